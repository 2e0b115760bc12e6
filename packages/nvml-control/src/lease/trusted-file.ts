import { lstatSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { isReadOnly, trustedPath } from '@pctodl/command-line'

const WRITABLE_BY_OTHERS = 0o022
const MAX_LINKS = 40

/**
 * The system's standard program folders. Used instead of the caller's PATH, which could lead to somebody else's
 * program.
 */
export const systemSearchPath = '/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin'

/**
 * Environment for a program that runs with our rights. It omits everything that could load foreign code (`LD_PRELOAD`,
 * `NODE_OPTIONS`, PATH), but keeps a container's driver libraries (`LD_LIBRARY_PATH`).
 */
export function cleanEnvironment(): Record<string, string> {
  const { LD_LIBRARY_PATH } = process.env
  return { PATH: systemSearchPath, LC_ALL: 'C', ...(LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }) }
}

/**
 * The real path of a folder in which only root and this user can have created anything; others may not write it, sticky
 * bit or not. So a file found there is theirs.
 *
 * @throws Error naming the offending part and its owner; the system's error if there is no such folder
 */
export function closedFolder(folder: string): string {
  const trusted = trustedPath(folder)
  assertNotWritable(trusted, lstatSync(trusted).mode)
  return trusted
}

/**
 * The real path of a file that only root and this user can write or replace: the file and every link to it belong to
 * one of the two, and nobody else can write to a folder that holds one of them.
 *
 * @returns its path without links
 * @throws Error naming the offending part and its owner; the system's error if there is no such file
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
