import { lstatSync } from 'node:fs'
import path from 'node:path'
import { makePrivateFolder, readOwnFile, writeFileAtomically } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'

/**
 * Group write is allowed on parent folders, since many systems create folders that way, but never on the work folder
 * itself.
 */
const ALL_MAY_WRITE = 0o002
const MAX_BYTES = 64 * 2 ** 20

/**
 * A folder that only this user can write to, created if absent.
 *
 * @returns the absolute path with symlinks above it kept: nodes may mount their targets elsewhere
 * @throws InvalidInputError for a symlink; PctodlError `NOT_OWN` if others could write to it or replace it
 */
export function workFolder(folder: string): string {
  const absolute = path.resolve(folder)
  makePrivateFolder(absolute, 0o700, 0o755, ALL_MAY_WRITE)
  if (!lstatSync(absolute).isSymbolicLink()) return absolute
  throw new InvalidInputError(absolute, 'a symlink', 'the folder it points to')
}

/**
 * Read a file written by this user's job.
 *
 * @returns undefined if absent
 * @throws PctodlError `NOT_OWN` for a symlink or another user's file
 */
export function readNote(file: string): string | undefined {
  return readOwnFile(file, MAX_BYTES, ALL_MAY_WRITE) ?? undefined
}

export function writeNote(file: string, text: string): void {
  writeFileAtomically(file, text, 0o600)
}
