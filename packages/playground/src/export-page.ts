import { readFileSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { pageFile } from './page-file.js'

/**
 * Write the playground into a folder, for any static host or to be opened as a file; the folder is made. A page that is there is
 * replaced, and so is a link of its name, not what it leads to.
 *
 * @returns the file
 * @throws PctodlError `CANNOT_WRITE`, `NOT_BUILT`
 */
export function exportPage(folder: string): string {
  const page = readFileSync(pageFile())
  const file = path.join(folder, 'index.html')
  writeFileAtomically(file, page)
  return file
}
