import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * Write a file so that it is either the old one or the whole new one, never half of it: a neighbour with the process id in
 * its name is written first and then takes the file's place.
 */
export function writeFileAtomically(file: string, content: string | Uint8Array): void {
  mkdirSync(path.dirname(file), { recursive: true })
  const unfinished = `${file}.${process.pid}.unfinished`
  try {
    writeFileSync(unfinished, content)
    renameSync(unfinished, file)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
}
