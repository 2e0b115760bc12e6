import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs'

const { O_RDWR, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants

export interface OpenToWriteOptions {
  /** A file that has the name already is refused, written on at its end, or emptied. */
  readonly existing: 'refuse' | 'append' | 'empty'
  /** Rights of a file that is made, less the umask. Default 0o666; 0o600 for what is nobody else's business. */
  readonly mode?: number
}

/**
 * The one way in which the family's programs open a file to write it, where others may have a hand in the folder: whoever plants
 * something under the name, a link above all, does not lead what is written elsewhere.
 *
 * @returns a descriptor, to be written and read
 * @throws the system's error, EEXIST where the name is taken; Error for a link, for a file of another user, for one with several
 *   names, for a pipe or a socket. Devices, as `/dev/null`, are fine: only root can make them.
 */
export function openToWrite(file: string, { existing, mode = 0o666 }: OpenToWriteOptions): number {
  const how = existing === 'refuse' ? O_EXCL : existing === 'append' ? O_APPEND : 0
  let fd: number
  try {
    // A pipe in the place of a file must not hold us up.
    fd = openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | how, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error
    throw new Error('it is a symbolic link; name the file that it leads to', { cause: error })
  }
  try {
    const stat = fstatSync(fd)
    if (stat.isCharacterDevice()) return fd
    if (!stat.isFile()) throw new Error('it is no file')
    const uid = process.geteuid?.()
    if (uid !== undefined && stat.uid !== uid) throw new Error(`it belongs to user ${stat.uid}, not to user ${uid}`)
    if (stat.nlink !== 1)
      throw new Error(`it has ${stat.nlink} names (hard links), and would change under the others, too`)
    if (existing === 'empty') ftruncateSync(fd)
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}
