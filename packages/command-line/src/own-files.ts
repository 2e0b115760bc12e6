import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { PctodlError, reasonOf } from '@pctodl/platform'

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants

/** Permission bits: writable by the group or by all. */
const BY_OTHERS = 0o022
const FOR_OTHERS = 0o077
const STICKY = 0o1000
/** Permissions of a folder for other users: none; access to names that they know; or reading. They can never write. */
export type FolderMode = 0o700 | 0o711 | 0o755

/** Maximum number of symbolic links in a path; the kernel has the same limit. */
const MAX_LINKS = 40

/**
 * Resolves a path, and checks that only root and this user can redirect it. Every folder and link from the root on must
 * belong to one of the two. No folder may be writable by others, except a sticky one (such as `/tmp`), in which others
 * cannot change files of this user. Each step starts from a folder that was already checked, so nothing can be
 * exchanged between check and use.
 *
 * @param folder an existing folder
 * @param writers permission bits that count as writable by others; `0o002` allows the group to write
 * @returns the path without links
 * @throws Error that names the offending part of the path and its owner
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
 * Creates a folder that only this user can write to, or checks the existing one.
 *
 * @param mode permissions of a new folder
 * @param most largest permissions that an existing folder may have
 * @param writers for the folders above, as in `trustedPath`
 * @returns its path without links
 * @throws Error if the folder belongs to another user, or others could replace it
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
  // Each folder is created separately, because a permissive umask would otherwise apply to the folders in between.
  for (const each of missing) {
    try {
      const wanted = each === missing.at(-1) ? mode : 0o755
      mkdirSync(each, { mode: 0o700 })
      // A strict umask would exclude users who need access.
      if (wanted !== 0o700) chmodSync(each, wanted)
    } catch (error) {
      // Another program of this user has created it in the meantime; the owner is checked below.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  return privateFolder(folder, most, writers)
}

/**
 * Checks that an existing folder belongs to this user, and that only this user can change or replace it.
 *
 * @param mode most permissive mode that the folder may have
 * @returns its path with symbolic links resolved
 * @throws Error if the check fails
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
 * Reads a file of this user; returns null if it does not exist.
 *
 * @throws Error if it is a link or not a regular file, belongs to another user, is writable by others, or is larger
 * than `maxBytes`
 */
export function readOwnFile(file: string, maxBytes: number, writers: number = BY_OTHERS): string | null {
  let fd: number
  try {
    // `O_NONBLOCK`, because a pipe instead of a file must not block.
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

export interface OpenToWriteOptions {
  /** What to do with an existing file: refuse it, append to it, or empty it. */
  readonly existing: 'refuse' | 'append' | 'empty'
  /** Permissions of a new file before the umask. Default 0o666; use 0o600 for private content. */
  readonly mode?: number
}

/**
 * Opens a file for writing in a folder to which others may have access. All programs of this project write through this
 * function, so that nobody can redirect writes with a link or another file under the same name.
 *
 * @returns a descriptor for reading and writing
 * @throws the system's error (EEXIST if the file exists and `existing` is `refuse`); Error for a link, a file of
 * another user, a file with several names, a pipe or a socket. Devices such as `/dev/null` are allowed, because only
 * root can create them
 */
export function openToWrite(file: string, { existing, mode = 0o666 }: OpenToWriteOptions): number {
  const how = existing === 'refuse' ? O_EXCL : existing === 'append' ? O_APPEND : 0
  let fd: number
  try {
    // `O_NONBLOCK`, because a pipe instead of a file must not block.
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
 * Opens a file to which lines are written, and creates its folder.
 *
 * @param existing what to do with an existing file
 * @throws PctodlError `CANNOT_WRITE` with the file and the cause, for example a link in its place
 */
export function openLog(file: string, existing: 'append' | 'empty'): number {
  try {
    makeFolder(path.dirname(file))
    return openToWrite(file, { existing })
  } catch (error) {
    throw cannotWrite(file, error)
  }
}

/** Error for a file that the user chose and that cannot be written. */
export function cannotWrite(file: string, cause: unknown): PctodlError {
  const reason = reasonOf(cause)
  return new PctodlError('CANNOT_WRITE', `cannot write ${file}: ${reason}; choose a place that can be written`, {
    cause,
  })
}

/**
 * Writes a file atomically: readers see the old or the complete new content. The content is written to a new file with
 * an unpredictable name (ending in the process id), which then replaces the target. If the target is a link, the link
 * itself is replaced, except in `/dev`. A device is written to and never replaced, which root could do.
 *
 * @param mode permissions of the file before the umask; use 0o600 for private content
 * @param sync whether the content is flushed to disk first, so that a crash of the machine leaves no partial file
 * @throws PctodlError `CANNOT_WRITE` with the file and the cause
 */
export function writeFileAtomically(file: string, content: string | Uint8Array, mode = 0o666, sync = false): void {
  const unfinished = `${file}.${randomBytes(8).toString('hex')}.${process.pid}.unfinished`
  let isOurs = false
  try {
    const at = lstatSync(file, { throwIfNoEntry: false })
    if (at?.isCharacterDevice()) {
      writeFileSync(file, content, { flag: 'a' })
      return
    }
    if (at?.isSymbolicLink() ? realpathSync(path.dirname(file)) === '/dev' : at?.isFile() === false)
      throw refused('it is no file')
    makeFolder(path.dirname(file))
    const fd = openToWrite(unfinished, { existing: 'refuse', mode })
    isOurs = true
    try {
      writeFileSync(fd, content)
      if (sync) fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(unfinished, file)
  } catch (error) {
    if (isOurs) rmSync(unfinished, { force: true })
    throw cannotWrite(file, error)
  }
}

/**
 * Creates a folder and its parents. `mkdirSync` with `recursive` is not used: in Node 20 to 24, it never returns below
 * an existing folder in which nothing can be created, such as `/proc`, because it answers each "no such folder" by
 * creating the parent again.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  const parent = path.dirname(folder)
  if (parent !== folder) makeFolder(parent)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have created the folder in the meantime.
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
 * Whether a file is on a read-only file system, such as a container's ConfigMap. Nobody can write there, whatever the
 * permissions.
 */
export function isReadOnly(place: string): boolean {
  try {
    accessSync(place, constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
}

/** Whether a file, a folder or a link has this name. A link need not have a target. */
function isThere(place: string): boolean {
  try {
    return existsSync(place) || lstatSync(place, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    // The parent is a file; creating a folder in it fails later.
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
