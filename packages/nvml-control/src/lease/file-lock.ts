import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { PctodlError } from '@pctodl/platform'
import { load } from 'koffi'

/** `flock` from <sys/file.h>. The kernel releases the lock when the process ends, also after a crash. */
let flock: ((fd: number, operation: number) => number) | undefined

const LOCK_EX = 2
const LOCK_NB = 4
const LOCK_UN = 8

/** An exclusive lock on a file. It excludes other processes and other holders in this process. */
export class FileLock {
  readonly path: string
  #fd: number | null

  private constructor(path: string, fd: number) {
    this.path = path
    this.#fd = fd
  }

  /**
   * Tries to lock the file.
   * @returns null if the lock is already held
   * @throws PctodlError `LEASE_FOLDER` if the file can be neither opened nor created
   */
  static tryAcquire(path: string): FileLock | null {
    flock ??= load(null).func('flock', 'int', ['int', 'int']) as (fd: number, operation: number) => number
    const fd = openLockFile(path)
    if (flock(fd, LOCK_EX | LOCK_NB) !== 0) {
      closeSync(fd)
      return null
    }
    // Another process may have replaced the file. Then a lock on the old file does not exclude a lock on the new one.
    const [held, named] = [fstatSync(fd), lstatSync(path, { throwIfNoEntry: false })]
    const reason =
      held.uid !== process.geteuid?.()
        ? `it belongs to user ${held.uid}`
        : held.ino !== named?.ino || held.dev !== named.dev
          ? 'it was replaced while it was locked'
          : null
    if (reason === null) return new FileLock(path, fd)
    closeSync(fd)
    throw cannotLock(path, new Error(reason))
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

/**
 * Returns the pid of the process that holds the lock on a file, from /proc/locks; null if there is none or its pid is
 * not visible.
 */
export function lockHolder(path: string): number | null {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    const { ino } = fstatSync(fd)
    closeSync(fd)
    const line = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .find((text) => text.includes(' FLOCK ') && new RegExp(`:${ino} `).test(text) && !text.includes('->'))
    const pid = Number(line?.trim().split(/\s+/)[4])
    // The kernel reports a process of another pid namespace as 0 or -1.
    return pid > 0 ? pid : null
  } catch {
    return null
  }
}

/**
 * Opens the lock file for reading, which suffices for `flock`. The file is never removed: otherwise two processes could
 * lock two different files of the same name.
 */
function openLockFile(path: string): number {
  const { O_RDONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  for (;;) {
    try {
      return openSync(path, O_RDONLY | O_NOFOLLOW)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw cannotLock(path, error)
    }
    try {
      return openSync(path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    } catch (error) {
      // Another process has created the file in the meantime.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw cannotLock(path, error)
    }
  }
}

function cannotLock(path: string, cause: unknown): PctodlError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new PctodlError(
    'LEASE_FOLDER',
    `cannot lock ${path}: ${reason}; name a folder that is yours alone in PCTODL_LEASE_DIR`,
    { cause },
  )
}
