import { lstatSync } from 'node:fs'
import path from 'node:path'
import { makePrivateFolder, readOwnFile, writeFileAtomically } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'

/**
 * Write permission that the folders above the work folder may not have. Their group may write to them, because many
 * systems create folders that way.
 */
const ALL_MAY_WRITE = 0o002
const MAX_BYTES = 64 * 2 ** 20

/**
 * Returns a folder that only this user can write to, and creates it if needed.
 *
 * @returns the absolute path. Symlinks above the folder are kept, because nodes may mount their targets elsewhere
 * @throws InvalidInputError for a symlink; PctodlError `NOT_OWN` if the folder belongs to another user, or others could
 *   write to it or replace it
 */
export function workFolder(folder: string): string {
  const absolute = path.resolve(folder)
  makePrivateFolder(absolute, 0o700, 0o755, ALL_MAY_WRITE)
  if (!lstatSync(absolute).isSymbolicLink()) return absolute
  throw new InvalidInputError(absolute, 'a symlink', 'the folder it points to')
}

/**
 * Reads a file that a job of this user wrote.
 *
 * @returns undefined if there is no file
 * @throws PctodlError `NOT_OWN` for a symlink or a file of another user
 */
export function readNote(file: string): string | undefined {
  return readOwnFile(file, MAX_BYTES, ALL_MAY_WRITE) ?? undefined
}

export function writeNote(file: string, text: string): void {
  writeFileAtomically(file, text, 0o600)
}
