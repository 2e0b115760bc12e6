import { copyFileSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { pageFile } from './page-file.js'

/**
 * Write the playground into a folder, for any static host or to be opened as a file; the folder is made.
 *
 * @returns the file
 * @throws PctodlError `CANNOT_WRITE`, `NOT_BUILT`
 */
export function exportPage(folder: string): string {
  const page = pageFile()
  const file = path.join(folder, 'index.html')
  try {
    mkdirSync(folder, { recursive: true })
    copyFileSync(page, file)
  } catch (error) {
    const { message } = error as Error
    throw new PctodlError('CANNOT_WRITE', `cannot write ${file}: ${message}; choose a folder that can be written`, {
      cause: error,
    })
  }
  return file
}
