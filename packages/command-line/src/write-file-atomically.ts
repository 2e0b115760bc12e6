import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'

/**
 * Write a file so that it is either the old one or the whole new one, never half of it: a neighbour with the process id in
 * its name is written first and then takes the file's place.
 *
 * @throws PctodlError `CANNOT_WRITE` naming the file and the cause
 */
export function writeFileAtomically(file: string, content: string | Uint8Array): void {
  const unfinished = `${file}.${process.pid}.unfinished`
  try {
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(unfinished, content)
    renameSync(unfinished, file)
  } catch (error) {
    if (existsSync(unfinished)) rmSync(unfinished)
    const cause = error instanceof Error ? error.message : String(error)
    throw new PctodlError('CANNOT_WRITE', `cannot write ${file}: ${cause}; choose a place that can be written`, {
      cause: error,
    })
  }
}
