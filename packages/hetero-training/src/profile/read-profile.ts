import { readFileSync } from 'node:fs'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import type { GpuProfile } from './gpu-profile.js'
import { parseProfileJson } from './profile-json.js'

export interface ReadProfileOptions {
  /** Name of the GPU in plans. Default: what the file says, else the name of the file. */
  readonly name?: string
  /** Replaces what the file says, W. */
  readonly idlePowerW?: number
}

/**
 * Read the profile of one GPU: JSON as the published tools write it or as `collectProfile` writes it.
 *
 * @throws InvalidInputError naming the file and the place in it
 */
export function readProfile(file: string, options: ReadProfileOptions = {}): GpuProfile {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new InvalidInputError('profile', file, `a file that can be read (${(error as Error).message})`)
  }
  return { ...parseProfileJson(text, file, path.basename(file, '.json')), ...options }
}
