import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
} from 'node:fs'
import path from 'node:path'
import { openToWrite } from '@pctodl/command-line'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants

const WRITABLE_BY_OTHERS = 0o022
const FOR_OTHERS = 0o077
const STICKY = 0o1000
/** Closed; open to those who know the name of what is in it; open to readers. Never to writers. */
export type FolderMode = 0o700 | 0o711 | 0o755

/** As many as the kernel follows. */
const MOST_LINKS = 40

/**
 * Where a path leads, if nobody but root and this user can lead it elsewhere: from the root on, every folder and every link
 * belongs to one of the two, and no folder can be written by others, unless it is sticky (as `/tmp`), where others cannot touch
 * what is not theirs. Each step is taken in a folder that has been judged before, so nothing can be exchanged in between.
 *
 * @param folder absolute, and existing
 * @returns the same without links
 * @throws Error that says which part of it is in whose hands
 */
export function trustedPath(folder: string): string {
  const pending = path.resolve(folder).split('/').filter(isName)
  let trusted = '/'
  assertTrusted(trusted)
  for (let links = 0; pending.length > 0; ) {
    const name = pending.shift()!
    if (name === '..') {
      trusted = path.dirname(trusted)
      continue
    }
    const here = path.join(trusted, name)
    if (assertTrusted(here) === 'folder') {
      trusted = here
      continue
    }
    if (++links > MOST_LINKS) throw new Error(`${here} leads in a circle`)
    const target = readlinkSync(here)
    if (target.startsWith('/')) trusted = '/'
    pending.unshift(...target.split('/').filter(isName))
  }
  return trusted
}

/**
 * A folder that is this user's alone, made where it is not there yet.
 *
 * @param mode of the folder where it is made
 * @param most what it may be open to where it is there
 * @returns its path without links
 * @throws Error where it belongs to somebody else, or others could put something in its place
 */
export function makePrivateFolder(folder: string, mode: FolderMode = 0o700, most: FolderMode = mode): string {
  const missing: string[] = []
  for (let at = path.resolve(folder); !isThere(at); at = path.dirname(at)) missing.unshift(at)
  const first = missing[0]
  if (first !== undefined) trustedPath(path.dirname(first))
  // One at a time, so that no folder on the way gets the rights of a careless umask.
  for (const each of missing) {
    try {
      const wanted = each === missing.at(-1) ? mode : 0o755
      mkdirSync(each, { mode: 0o700 })
      // A strict umask would shut out those who are to pass through.
      if (wanted !== 0o700) chmodSync(each, wanted)
    } catch (error) {
      // Another program of ours was faster; whose it is, is judged below.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  return privateFolder(folder, most)
}

/**
 * The path without links of a folder that is there, if it is this user's alone.
 *
 * @param mode what it may be open to
 * @throws Error where it belongs to somebody else, or others could change it or put something in its place
 */
export function privateFolder(folder: string, mode: FolderMode = 0o700): string {
  const trusted = trustedPath(folder)
  const stat = lstatSync(trusted)
  if (stat.uid !== ownUid()) throw new Error(`${trusted} belongs to user ${stat.uid}, not to user ${ownUid()}`)
  const beyond = stat.mode & FOR_OTHERS & ~mode
  if (beyond !== 0) {
    throw new Error(`${trusted} is open to others (mode ${octal(stat.mode)}); close it with \`chmod ${octal(mode)}\``)
  }
  return trusted
}

/**
 * The text of a file that this user wrote; null where there is none.
 *
 * @throws Error for a link, for what is no file, for one that is somebody else's or that others can write, and for one of more than
 *   `mostBytes`
 */
export function readOwnFile(file: string, mostBytes: number): string | null {
  let fd: number
  try {
    // A pipe in the place of a file must not hold us up.
    fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw code === 'ELOOP' ? new Error(`${file} is a symbolic link`, { cause: error }) : error
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error(`${file} is no file`)
    if (stat.uid !== ownUid()) throw new Error(`${file} belongs to user ${stat.uid}, not to user ${ownUid()}`)
    if ((stat.mode & WRITABLE_BY_OTHERS) !== 0)
      throw new Error(`${file} can be written by others (mode ${octal(stat.mode)})`)
    if (stat.size > mostBytes) throw new Error(`${file} has ${stat.size} bytes, more than ${mostBytes}`)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/** A new file that only this user can read, to be written. @throws the system's error, EEXIST where the name is taken */
export function createOwnFile(file: string): number {
  return openToWrite(file, { existing: 'refuse', mode: 0o600 })
}

function assertTrusted(place: string): 'folder' | 'link' {
  const stat = lstatSync(place)
  if (stat.uid !== 0 && stat.uid !== ownUid()) throw new Error(`${place} belongs to user ${stat.uid}`)
  if (stat.isSymbolicLink()) return 'link'
  if (!stat.isDirectory()) throw new Error(`${place} is no folder`)
  if ((stat.mode & WRITABLE_BY_OTHERS) !== 0 && (stat.mode & STICKY) === 0) {
    throw new Error(`${place} can be written by others (mode ${octal(stat.mode)})`)
  }
  return 'folder'
}

/** Also of a link that leads nowhere. */
function isThere(place: string): boolean {
  return existsSync(place) || lstatSync(place, { throwIfNoEntry: false }) !== undefined
}

function isName(part: string): boolean {
  return part !== '' && part !== '.'
}

function ownUid(): number {
  return process.geteuid?.() ?? 0
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8)
}
