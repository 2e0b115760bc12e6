import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants

/** Writable by the group or by all. */
const BY_OTHERS = 0o022
const FOR_OTHERS = 0o077
const STICKY = 0o1000
/** Permissions: closed; traversable for those who know a name; or readable. Never writable by others. */
export type FolderMode = 0o700 | 0o711 | 0o755

/** Maximum number of links, as in the kernel. */
const MAX_LINKS = 40

/**
 * Resolve a path that nobody but root and this user can redirect: every folder and link from the root on belongs to one
 * of the two, and no folder is writable by others unless it is sticky (as `/tmp`), where others cannot touch files of
 * this user. Each step starts from a folder that was already checked, so nothing can be exchanged in between.
 *
 * @param folder absolute, and existing
 * @param writers rights that make a folder others'; `0o002` lets the group write above
 * @returns the same without links
 * @throws Error that says which part of it is in whose hands
 */
export function trustedPath(folder: string, writers: number = BY_OTHERS): string {
  const pending = path.resolve(folder).split('/').filter(isName)
  let trusted = '/'
  assertTrusted(trusted, writers)
  for (let links = 0; pending.length > 0; ) {
    const name = pending.shift()!
    if (name === '..') {
      trusted = path.dirname(trusted)
      continue
    }
    const here = path.join(trusted, name)
    if (assertTrusted(here, writers) === 'folder') {
      trusted = here
      continue
    }
    if (++links > MAX_LINKS) throw refused(`${here} leads in a circle`)
    const target = readlinkSync(here)
    if (target.startsWith('/')) trusted = '/'
    pending.unshift(...target.split('/').filter(isName))
  }
  return trusted
}

/**
 * A folder that belongs to this user alone, created if needed.
 *
 * @param mode of the folder where it is made
 * @param most what it may be open to where it is there
 * @param writers as of `trustedPath`, for the folders above
 * @returns its path without links
 * @throws Error where it belongs to somebody else, or others could put something in its place
 */
export function makePrivateFolder(
  folder: string,
  mode: FolderMode = 0o700,
  most: FolderMode = mode,
  writers: number = BY_OTHERS,
): string {
  const missing: string[] = []
  for (let at = path.resolve(folder); !isThere(at); at = path.dirname(at)) missing.unshift(at)
  const first = missing[0]
  if (first !== undefined) trustedPath(path.dirname(first), writers)
  // One at a time, so that a permissive umask never applies to an intermediate folder.
  for (const each of missing) {
    try {
      const wanted = each === missing.at(-1) ? mode : 0o755
      mkdirSync(each, { mode: 0o700 })
      // A strict umask would exclude those who need to pass.
      if (wanted !== 0o700) chmodSync(each, wanted)
    } catch (error) {
      // Another program of this user was faster; the owner is checked below.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  return privateFolder(folder, most, writers)
}

/**
 * Path without links of an existing folder, if it belongs to this user alone.
 *
 * @param mode what it may be open to
 * @throws Error where it belongs to somebody else, or others could change it or put something in its place
 */
export function privateFolder(folder: string, mode: FolderMode = 0o700, writers: number = BY_OTHERS): string {
  const trusted = trustedPath(folder, writers)
  const stat = lstatSync(trusted)
  if (stat.uid !== ownUid()) throw refused(`${trusted} belongs to user ${stat.uid}, not to user ${ownUid()}`)
  const beyond = stat.mode & FOR_OTHERS & ~mode
  if (beyond !== 0) {
    throw refused(`${trusted} is open to others (mode ${octal(stat.mode)}); close it with \`chmod ${octal(mode)}\``)
  }
  return trusted
}

/**
 * Text of a file that this user wrote; null if there is none.
 *
 * @throws Error for a link, for what is no file, for one that is somebody else's or that others can write, and for one of more than
 *   `maxBytes`
 */
export function readOwnFile(file: string, maxBytes: number, writers: number = BY_OTHERS): string | null {
  let fd: number
  try {
    // A pipe in place of a file must not block.
    fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw code === 'ELOOP' ? refused(`${file} is a symbolic link`, { cause: error }) : error
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw refused(`${file} is no file`)
    if (stat.uid !== ownUid()) throw refused(`${file} belongs to user ${stat.uid}, not to user ${ownUid()}`)
    if ((stat.mode & writers) !== 0) throw refused(`${file} can be written by others (mode ${octal(stat.mode)})`)
    if (stat.size > maxBytes) throw refused(`${file} has ${stat.size} bytes, more than ${maxBytes}`)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/** Create a new file that only this user can read. @throws the system's error, EEXIST where the name is taken */
export function createOwnFile(file: string): number {
  return openToWrite(file, { existing: 'refuse', mode: 0o600 })
}

export interface OpenToWriteOptions {
  /** An existing file of this name is refused, appended to, or truncated. */
  readonly existing: 'refuse' | 'append' | 'empty'
  /** Permissions of a new file, before the umask. Default 0o666; 0o600 for private content. */
  readonly mode?: number
}

/**
 * Open a file for writing in a folder to which others may have access. The family's programs use no other way, so
 * nobody can redirect writes by placing something under the name, above all a link.
 *
 * @returns a descriptor, to be written and read
 * @throws the system's error, EEXIST where the name is taken; Error for a link, for a file of another user, for one with several
 *   names, for a pipe or a socket. Devices, as `/dev/null`, are fine: only root can make them.
 */
export function openToWrite(file: string, { existing, mode = 0o666 }: OpenToWriteOptions): number {
  const how = existing === 'refuse' ? O_EXCL : existing === 'append' ? O_APPEND : 0
  let fd: number
  try {
    // A pipe in place of a file must not block.
    fd = openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | how, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error
    throw refused('it is a symbolic link; name the file that it leads to', { cause: error })
  }
  try {
    const stat = fstatSync(fd)
    if (stat.isCharacterDevice()) return fd
    if (!stat.isFile()) throw refused('it is no file')
    const uid = process.geteuid?.()
    if (uid !== undefined && stat.uid !== uid) throw refused(`it belongs to user ${stat.uid}, not to user ${uid}`)
    if (stat.nlink !== 1)
      throw refused(`it has ${stat.nlink} names (hard links), and would change under the others, too`)
    if (existing === 'empty') ftruncateSync(fd)
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/**
 * Write a file atomically: readers see the old or the complete new content. The content is written to a file with an
 * unpredictable name (ending in the process id), which then replaces the target. A link of the target's name is
 * replaced, not followed.
 *
 * @param mode rights of the file, less the umask: 0o600 for what is nobody else's business
 * @throws PctodlError `CANNOT_WRITE` naming the file and the cause
 */
export function writeFileAtomically(file: string, content: string | Uint8Array, mode = 0o666): void {
  const unfinished = `${file}.${randomBytes(8).toString('hex')}.${process.pid}.unfinished`
  let isOurs = false
  try {
    makeFolder(path.dirname(file))
    const fd = openToWrite(unfinished, { existing: 'refuse', mode })
    isOurs = true
    try {
      writeFileSync(fd, content)
    } finally {
      closeSync(fd)
    }
    renameSync(unfinished, file)
  } catch (error) {
    if (isOurs) rmSync(unfinished, { force: true })
    const cause = error instanceof Error ? error.message : String(error)
    throw new PctodlError('CANNOT_WRITE', `cannot write ${file}: ${cause}; choose a place that can be written`, {
      cause: error,
    })
  }
}

/**
 * Create a folder and its parents. Not with `mkdirSync` and `recursive`, which never returns in Node 20 to 24 under an
 * existing folder that takes no entries, such as `/proc`: it answers each "no such folder" by creating the parent
 * again.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  const parent = path.dirname(folder)
  if (parent !== folder) makeFolder(parent)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have created it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function assertTrusted(place: string, writers: number): 'folder' | 'link' {
  const stat = lstatSync(place)
  if (stat.uid !== 0 && stat.uid !== ownUid()) throw refused(`${place} belongs to user ${stat.uid}`)
  if (stat.isSymbolicLink()) return 'link'
  if (!stat.isDirectory()) throw refused(`${place} is no folder`)
  if ((stat.mode & writers) !== 0 && (stat.mode & STICKY) === 0 && !isReadOnly(place)) {
    throw refused(`${place} can be written by others (mode ${octal(stat.mode)})`)
  }
  return 'folder'
}

/**
 * Whether it is on a read-only file system, as a container's ConfigMap is: nobody can write there, whatever the mode.
 */
export function isReadOnly(place: string): boolean {
  try {
    accessSync(place, constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
}

/** Also true for dangling symlinks. */
function isThere(place: string): boolean {
  try {
    return existsSync(place) || lstatSync(place, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    // Nothing exists below a file; creating a folder there fails later.
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false
    throw error
  }
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

function refused(why: string, options?: ErrorOptions): PctodlError {
  return new PctodlError('NOT_OWN', why, options)
}
