import { existsSync, lstatSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { pageFile } from './page-file.js'

/** Title of the page. It identifies an exported playground of any release. */
const OURS = '<title>pctodl playground</title>'
/** Number of bytes at the start of a file in which the title is searched for. */
const HEAD_BYTES = 4096

/**
 * Writes the playground into a folder, which is created if it is missing. Any static host can serve the page, and a
 * browser can open it as a file. An existing playground is replaced. A symbolic link with the page's name is also
 * replaced; its target stays unchanged.
 *
 * @returns the path of the written file
 * @throws PctodlError `FOREIGN_PAGE` if the folder contains another page of this name, `CANNOT_WRITE`, `NOT_BUILT`
 */
export function exportPage(folder: string): string {
  const page = readFileSync(pageFile())
  const file = path.join(folder, 'index.html')
  if (isForeign(file)) {
    throw new PctodlError(
      'FOREIGN_PAGE',
      `${file} is another page, which is left alone; choose another folder, or remove it first`,
    )
  }
  writeFileAtomically(file, page)
  return file
}

/** Whether a regular file with this name exists that is not a playground. An empty file may be replaced. */
function isForeign(file: string): boolean {
  if (!existsSync(file) || !lstatSync(file).isFile()) return false
  const text = readFileSync(file)
  return text.length > 0 && !text.subarray(0, HEAD_BYTES).includes(OURS)
}
