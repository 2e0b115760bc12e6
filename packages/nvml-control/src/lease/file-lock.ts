import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { PctodlError } from '@pctodl/platform'
import { load } from 'koffi'
import { reasonOf } from '../reason-of.js'

/** `flock` from <sys/file.h>. The kernel releases the lock when the process ends, also after a crash. */
let flock: ((fd: number, operation: number) => number) | undefined

const [LOCK_EX, LOCK_NB, LOCK_UN] = [2, 4, 8] as const

/** An exclusive lock on a file. It excludes other processes and other holders in this process. */
export class FileLock {
  #fd: number | null

  private constructor(fd: number) {
    this.#fd = fd
  }

  /** Locks a file (created if missing) or a folder. Returns null if it is locked. @throws PctodlError `LEASE_FOLDER` */
  static tryAcquire(path: string): FileLock | null {
    flock ??= load(null).func('flock', 'int', ['int', 'int']) as (fd: number, operation: number) => number
    let fd: number | undefined
    try {
      fd = openLockFile(path)
      if (flock(fd, LOCK_EX | LOCK_NB) !== 0) {
        closeSync(fd)
        return null
      }
      // Another process may have replaced the file. Then a lock on the old file does not exclude a lock on the new one.
      const [held, named] = [fstatSync(fd), lstatSync(path, { throwIfNoEntry: false })]
      if (held.uid !== process.geteuid?.()) throw new Error(`it belongs to user ${held.uid}`)
      if (held.ino !== named?.ino || held.dev !== named.dev) throw new Error('it was replaced while it was locked')
      return new FileLock(fd)
    } catch (cause) {
      if (fd !== undefined) closeSync(fd)
      const why = `cannot lock ${path}: ${reasonOf(cause)}; name a folder that is yours alone in PCTODL_LEASE_DIR`
      throw new PctodlError('LEASE_FOLDER', why, { cause })
    }
  }

  /** Idempotent. */
  release(): void {
    if (this.#fd === null) return
    // The lock is released explicitly: a process that is being spawned may have inherited the file descriptor, and
    // would keep the lock after closing it here.
    flock?.(this.#fd, LOCK_UN)
    closeSync(this.#fd)
    this.#fd = null
  }
}

/** Returns the pid of the process that holds the lock on a file; null if there is none or its pid is not visible. */
export function lockHolder(path: string): number | null {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    const { ino } = fstatSync(fd)
    closeSync(fd)
    const line = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .find((text) => text.includes(' FLOCK ') && text.includes(`:${ino} `) && !text.includes('->'))
    const pid = Number(line?.trim().split(/\s+/)[4])
    // The kernel reports a process of another pid namespace as 0 or -1.
    return pid > 0 ? pid : null
  } catch {
    return null
  }
}

/** The file is never removed: otherwise two processes could lock two different files of the same name. */
function openLockFile(path: string): number {
  const { O_RDONLY, O_CREAT, O_NOFOLLOW } = constants
  try {
    return openSync(path, O_RDONLY | O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return openSync(path, O_RDONLY | O_CREAT | O_NOFOLLOW, 0o600)
  }
}
