import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { PctodlError } from '@pctodl/platform'
import type { ServiceObjective, ServiceProfile } from '../profile.js'
import { parseObjectives } from './parse-objectives.js'
import { type ProfileOptions, parseProfileCsv } from './parse-profile-csv.js'

/** Names of the objective files, as published. */
export const RATE_FILE = 'SLO_req_rate.csv'
export const LATENCY_FILE = 'SLO_latency.csv'

/**
 * Read every profile of a folder: a model is named as its file, `<model>.csv`. Objective files beside them are passed over.
 *
 * @throws SegmentFileError for a file that is no profile
 * @throws PctodlError `NO_PROFILES` for a folder without any
 */
export function loadProfiles(folder: string, options: ProfileOptions = {}): ServiceProfile[] {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.csv')) : []
  const profiles = files
    .filter((name) => name !== RATE_FILE && name !== LATENCY_FILE)
    // Columns of objective files without names follow the byte order of the file names.
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map((name) => {
      const file = path.join(folder, name)
      return parseProfileCsv(readFileSync(file, 'utf8'), name.slice(0, -'.csv'.length), file, options)
    })
  if (profiles.length === 0) {
    throw new PctodlError('NO_PROFILES', `${folder} has no profiles; it must hold a <model>.csv for each model`)
  }
  return profiles
}

/**
 * Read the objectives of a folder: the scenarios, in order.
 *
 * @param models names of the profiles, in the order of `loadProfiles`
 * @throws SegmentFileError naming file, row and column
 */
export function loadObjectives(folder: string, models: readonly string[]): ServiceObjective[][] {
  const read = (name: string) => {
    const file = path.join(folder, name)
    if (!existsSync(file)) throw new PctodlError('NO_OBJECTIVES', `${file} does not exist; name its folder`)
    return { text: readFileSync(file, 'utf8'), file }
  }
  return parseObjectives(read(RATE_FILE), read(LATENCY_FILE), models)
}

/** Folder of the example profiles of a board; of the example objectives with `example-objectives`. */
export function exampleFolder(name: string): string {
  // The CommonJS build has `__filename` and no `import.meta.url`, the ESM build the other way round.
  let folder = path.dirname(typeof __filename === 'string' ? __filename : fileURLToPath(import.meta.url))
  while (!existsSync(path.join(folder, 'profiles', 'example-objectives'))) {
    if (folder === path.dirname(folder)) {
      throw new PctodlError('NO_PROFILES', 'the example profiles are missing; reinstall @pctodl/mig-segments')
    }
    folder = path.dirname(folder)
  }
  return path.join(folder, 'profiles', name)
}
