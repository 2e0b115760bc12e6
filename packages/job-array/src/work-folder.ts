import { lstatSync } from 'node:fs'
import path from 'node:path'
import { makePrivateFolder, readOwnFile, writeFileAtomically } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'

/** The group may write above a work folder, as shells of many systems make folders; nobody but its owner writes in it. */
const ALL_MAY_WRITE = 0o002
const MAX_BYTES = 64 * 2 ** 20

/**
 * A folder in which only this user writes, made where it is not there yet.
 *
 * @returns the absolute path, with the links above it: nodes may mount what they lead to elsewhere
 * @throws InvalidInputError for a link; PctodlError `NOT_OWN` where others could write there, or put something in its place
 */
export function workFolder(folder: string): string {
  const absolute = path.resolve(folder)
  makePrivateFolder(absolute, 0o700, 0o755, ALL_MAY_WRITE)
  if (!lstatSync(absolute).isSymbolicLink()) return absolute
  throw new InvalidInputError(absolute, 'a link', 'the folder that it leads to')
}

/** What a job of this user wrote. @returns undefined where there is nothing @throws PctodlError `NOT_OWN` for a link or what is others' */
export function readNote(file: string): string | undefined {
  return readOwnFile(file, MAX_BYTES, ALL_MAY_WRITE) ?? undefined
}

export function writeNote(file: string, text: string): void {
  writeFileAtomically(file, text, 0o600)
}
