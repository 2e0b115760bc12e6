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
    makeFolder(path.dirname(file))
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

/**
 * Make a folder and those above it. By hand: `mkdirSync` with `recursive` of Node 20 to 24 never returns under a folder that
 * exists and takes no entries, such as `/proc`, because it answers each "no such folder" by making the parent again.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  const parent = path.dirname(folder)
  if (parent !== folder) makeFolder(parent)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
