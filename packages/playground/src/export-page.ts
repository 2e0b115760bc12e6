import { existsSync, lstatSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { pageFile } from './page-file.js'

/** Marks an exported playground of any release. */
const OURS = '<title>pctodl playground</title>'
/** The mark is within this many bytes from the start. */
const HEAD_BYTES = 4096

/**
 * Write the playground into a folder, which is created if missing. A static host can serve the page, and a browser can
 * open it as a file. An existing playground is replaced; a symbolic link of that name is replaced, and its target is
 * left untouched.
 *
 * @returns the file
 * @throws PctodlError `FOREIGN_PAGE` if another page is there, `CANNOT_WRITE`, `NOT_BUILT`
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

/** Whether somebody else's file has the name; an empty file belongs to nobody. */
function isForeign(file: string): boolean {
  if (!existsSync(file) || !lstatSync(file).isFile()) return false
  const text = readFileSync(file)
  return text.length > 0 && !text.subarray(0, HEAD_BYTES).includes(OURS)
}
