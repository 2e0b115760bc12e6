import { readdirSync } from 'node:fs'
import { privateFolder } from '@pctodl/command-line'

import { MpsError } from './mps-errors.js'
import { defaultMpsFolder, MpsPlace } from './mps-place.js'

/**
 * Places of daemons in a folder: one for each board that has had one.
 *
 * @param folder default: this user's
 * @throws MpsError `MPS_FOLDER` where the folder is not this user's alone
 */
export function mpsPlaces(folder: string = defaultMpsFolder()): MpsPlace[] {
  let names: string[]
  try {
    names = readdirSync(privateFolder(folder, 0o755))
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return []
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new MpsError('MPS_FOLDER', `cannot use ${folder} for MPS: ${reason}; name another in PCTODL_MPS_DIR`, {
      cause,
    })
  }
  return names.filter((name) => /^(all|(GPU|MIG)-[\w-]+)$/.test(name)).map((board) => new MpsPlace({ board, folder }))
}
