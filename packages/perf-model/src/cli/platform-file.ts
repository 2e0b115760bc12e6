import { readFileSync } from 'node:fs'
import { type GpuSpec, PlatformFileError, parsePlatformFile } from '@pctodl/platform'

/** @throws PlatformFileError naming the file, and the field where one is wrong */
export function readPlatformFile(file: string): GpuSpec {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PlatformFileError(file, 'the whole', undefined, 'a file that can be read', { cause })
  }
  return parsePlatformFile(text, file)
}
