import { lstatSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { isReadOnly, trustedPath } from '@pctodl/command-line'

const WRITABLE_BY_OTHERS = 0o022
const MOST_LINKS = 40

/** Where systems keep their programs: for what needs no other, and must not be led to another by the caller's environment. */
export const systemSearchPath = '/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin'

/**
 * What a program that goes on with our rights has in its environment: nothing that would lead it to somebody's code (`LD_PRELOAD`,
 * `NODE_OPTIONS`, PATH), and where a container's driver has its libraries.
 */
export function cleanEnvironment(): Record<string, string> {
  const { LD_LIBRARY_PATH } = process.env
  return { PATH: systemSearchPath, LC_ALL: 'C', ...(LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }) }
}

/**
 * The path without links of a folder in which nobody but root and this user can have put anything, sticky or not: what is looked for
 * there under a name is theirs, or missing.
 *
 * @throws Error that says which part of it is in whose hands; the system's error where there is none
 */
export function closedFolder(folder: string): string {
  const trusted = trustedPath(folder)
  assertNotWritable(trusted, lstatSync(trusted).mode)
  return trusted
}

/**
 * The file that a name leads to, if nobody but root and this user can write it, or put another in its place: it and all links to it
 * belong to one of the two, and nobody else can put anything into a folder that holds one of them.
 *
 * @returns its path without links
 * @throws Error that says which part of it is in whose hands; the system's error where there is none
 */
export function trustedFile(file: string): string {
  let at = path.resolve(file)
  for (let links = 0; links <= MOST_LINKS; links++) {
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
