import { readdirSync } from 'node:fs'
import { privateFolder } from '@pctodl/command-line'
import { reasonOf } from '@pctodl/nvml-control'
import { MpsError } from './mps-errors.js'
import { defaultMpsFolder, MpsPlace } from './mps-place.js'

/**
 * Returns the places of daemons in a folder, one for each board that has had a daemon.
 *
 * @param folder default: this user's
 * @throws MpsError `MPS_FOLDER` if other users can write to the folder
 */
export function mpsPlaces(folder: string = defaultMpsFolder()): MpsPlace[] {
  let names: string[]
  try {
    names = readdirSync(privateFolder(folder, 0o755))
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return []
    const why = `cannot use ${folder} for MPS: ${reasonOf(cause)}; name another in PCTODL_MPS_DIR`
    throw new MpsError('MPS_FOLDER', why, { cause })
  }
  return names.filter((name) => /^(all|(GPU|MIG)-[\w-]+)$/.test(name)).map((board) => new MpsPlace({ board, folder }))
}
