import { lstatSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { isReadOnly, trustedPath } from '@pctodl/command-line'

const WRITABLE_BY_OTHERS = 0o022
const MAX_LINKS = 40

/** Replaces the caller's PATH, which could contain another user's program. */
export const systemSearchPath = '/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin'

/**
 * Returns the environment for a program that runs with our permissions, without variables that could load foreign code
 * (`LD_PRELOAD`, `NODE_OPTIONS`, PATH). `LD_LIBRARY_PATH` is kept: a container's driver libraries may be there.
 */
export function cleanEnvironment(): Record<string, string> {
  const { LD_LIBRARY_PATH } = process.env
  return { PATH: systemSearchPath, LC_ALL: 'C', ...(LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }) }
}

/**
 * Returns the real path of a folder that only root and this user can write to, even if it has the sticky bit.
 * @throws Error naming the writable or foreign part of the path; the system's error if the folder does not exist
 */
export function closedFolder(folder: string): string {
  const trusted = trustedPath(folder)
  assertNotWritable(trusted, lstatSync(trusted).mode)
  return trusted
}

/**
 * Returns the real path of a file that only root and this user can write or replace. The file, every symbolic link to
 * it, and their folders must belong to root or this user, and no other user may write to them.
 * @throws Error naming the writable or foreign part of the path; the system's error if the file does not exist
 */
export function trustedFile(file: string): string {
  let at = path.resolve(file)
  for (let links = 0; links <= MAX_LINKS; links++) {
    const folder = closedFolder(path.dirname(at))
    at = path.join(folder, path.basename(at))
    const stat = lstatSync(at)
    const ownUid = process.geteuid?.() ?? 0
    if (stat.uid !== 0 && stat.uid !== ownUid) throw new Error(`${at} belongs to user ${stat.uid}`)
    if (stat.isSymbolicLink()) {
      at = path.resolve(folder, readlinkSync(at))
      continue
    }
    if (!stat.isFile()) throw new Error(`${at} is no file`)
    assertNotWritable(at, stat.mode)
    return at
  }
  throw new Error(`${file} leads in a circle`)
}

function assertNotWritable(place: string, mode: number): void {
  if ((mode & WRITABLE_BY_OTHERS) !== 0 && !isReadOnly(place)) {
    throw new Error(`${place} can be written by others (mode ${(mode & 0o7777).toString(8)})`)
  }
}
