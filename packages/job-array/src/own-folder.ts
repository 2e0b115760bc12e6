import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
const WRITABLE_BY_OTHERS = 0o022
const WRITABLE_BY_ALL = 0o002
const STICKY = 0o1000

/**
 * A folder in which only this user writes, made (for this user alone) where it is not there yet. Others of the host could otherwise plant
 * links there, or say that jobs have ended; who owns a folder above it could put another in its place.
 *
 * @returns the absolute path
 * @throws InvalidInputError for a file, a link, a folder of somebody else or below one (root's are anybody's), or one in which others may
 *   write
 */
export function ownFolder(folder: string): string {
  const absolute = path.resolve(folder)
  try {
    mkdirSync(absolute, { recursive: true, mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new InvalidInputError(absolute, 'a file', 'a folder of your own, or a path at which there is nothing')
    throw error
  }
  const { mode, uid } = lstatSync(absolute)
  const isFolder = (mode & constants.S_IFMT) === constants.S_IFDIR
  const why = !isFolder
    ? 'a link or no folder'
    : uid !== (process.getuid?.() ?? uid)
      ? `a folder of user ${uid}`
      : (mode & WRITABLE_BY_OTHERS) !== 0
        ? 'a folder in which others may write'
        : undefined
  if (why !== undefined) {
    throw new InvalidInputError(absolute, why, 'a folder of your own in which nobody else writes (chmod go-w)')
  }
  assertParents(realpathSync(path.dirname(absolute)))
  return absolute
}

/** Nobody but this user and root may rename what is in the folders above. */
function assertParents(folder: string): void {
  const { mode, uid } = statSync(folder)
  if (uid !== 0 && uid !== (process.getuid?.() ?? uid)) {
    throw new InvalidInputError(folder, `a folder of user ${uid}`, 'folders of your own or of root above a work folder')
  }
  if ((mode & WRITABLE_BY_ALL) !== 0 && (mode & STICKY) === 0) {
    throw new InvalidInputError(
      folder,
      'a folder in which all may rename',
      'one with the sticky bit (chmod +t) or chmod o-w',
    )
  }
  if (path.dirname(folder) !== folder) assertParents(path.dirname(folder))
}

/**
 * Read a file that this user's jobs wrote; links are not followed.
 *
 * @returns undefined where there is none
 * @throws InvalidInputError for a link, or what is no file of this user
 */
export function readOwnFile(file: string): string | undefined {
  let descriptor: number
  try {
    descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw new InvalidInputError(file, 'a link', 'a file; nobody else may write in its folder')
    throw error
  }
  try {
    const stat = fstatSync(descriptor)
    if (!stat.isFile() || stat.uid !== (process.getuid?.() ?? stat.uid)) {
      throw new InvalidInputError(file, `something of user ${stat.uid}`, 'a file of your own')
    }
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}

/** Of a name that nobody can guess, and new, then renamed: what others plant in a shared folder is not followed, and half a text is never seen. */
export function writeOwnFile(file: string, text: string): void {
  const unfinished = `${file}.${randomBytes(8).toString('hex')}.unfinished`
  writeFileSync(unfinished, text, { flag: 'wx', mode: 0o600 })
  renameSync(unfinished, file)
}
