import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { PctodlError } from '@pctodl/platform'
import type { ServiceObjective, ServiceProfile } from '../profile.js'
import { parseObjectives } from './parse-objectives.js'
import { type ProfileOptions, parseProfileCsv } from './parse-profile-csv.js'

/** Names of ParvaGPU's files of objectives. */
export const RATE_FILE = 'SLO_req_rate.csv'
export const LATENCY_FILE = 'SLO_latency.csv'

/**
 * Reads every profile of a folder. The model of `<model>.csv` has the file's name. Files of objectives are skipped.
 *
 * @throws SegmentFileError for a file that is not a profile
 * @throws PctodlError `NO_PROFILES` for a folder without any
 */
export function loadProfiles(folder: string, options: ProfileOptions = {}): ServiceProfile[] {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.csv')) : []
  const models = files.filter((name) => name !== RATE_FILE && name !== LATENCY_FILE).map((name) => name.slice(0, -4))
  if (models.length === 0) {
    throw new PctodlError('NO_PROFILES', `${folder} has no profiles; it must hold a <model>.csv for each model`)
  }
  return models.sort(byFileName).map((model) => {
    const file = path.join(folder, `${model}.csv`)
    return parseProfileCsv(readFileSync(file, 'utf8'), model, file, options)
  })
}

/** Orders models by the bytes of their files' names, as columns of objectives without a header are. */
export function byFileName(a: string, b: string): number {
  return Buffer.compare(Buffer.from(`${a}.csv`), Buffer.from(`${b}.csv`))
}

/** Reads the scenarios of a folder, in order. `models` are the names of the profiles, in the order of `loadProfiles`. */
export function loadObjectives(folder: string, models: readonly string[]): ServiceObjective[][] {
  const read = (name: string) => {
    const file = path.join(folder, name)
    if (!existsSync(file)) throw new PctodlError('NO_OBJECTIVES', `${file} does not exist; name its folder`)
    return { text: readFileSync(file, 'utf8'), file }
  }
  return parseObjectives(read(RATE_FILE), read(LATENCY_FILE), models)
}

/** Returns the folder of a board's example profiles, or of the example objectives (`example-objectives`). */
export function exampleFolder(name: string): string {
  // The CommonJS build has only `__filename`, the ESM build only `import.meta.url`.
  let folder = path.dirname(typeof __filename === 'string' ? __filename : fileURLToPath(import.meta.url))
  while (!existsSync(path.join(folder, 'profiles', 'example-objectives'))) {
    if (folder === path.dirname(folder)) {
      throw new PctodlError('NO_PROFILES', 'the example profiles are missing; reinstall @pctodl/mig-segments')
    }
    folder = path.dirname(folder)
  }
  return path.join(folder, 'profiles', name)
}
