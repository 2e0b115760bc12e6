import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { openToWrite } from './open-to-write.js'

/**
 * Write a file so that it is either the old one or the whole new one, never half of it: a neighbour of a name that nobody can
 * guess, with the process id at its end, is written first and then takes the file's place. A link of the file's name is replaced,
 * not followed.
 *
 * @throws PctodlError `CANNOT_WRITE` naming the file and the cause
 */
export function writeFileAtomically(file: string, content: string | Uint8Array): void {
  const unfinished = `${file}.${randomBytes(8).toString('hex')}.${process.pid}.unfinished`
  let isOurs = false
  try {
    makeFolder(path.dirname(file))
    const fd = openToWrite(unfinished, { existing: 'refuse' })
    isOurs = true
    try {
      writeFileSync(fd, content)
    } finally {
      closeSync(fd)
    }
    renameSync(unfinished, file)
  } catch (error) {
    if (isOurs) rmSync(unfinished, { force: true })
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
