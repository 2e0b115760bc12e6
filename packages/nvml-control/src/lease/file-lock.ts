import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { PctodlError } from '@pctodl/platform'
import { load } from 'koffi'

/** `flock` from <sys/file.h>: the kernel gives the lock back when its process ends, however it ends. */
let flock: ((fd: number, operation: number) => number) | undefined

const LOCK_EX = 2
const LOCK_NB = 4
const LOCK_UN = 8

/** An exclusive lock on a file, across processes and within one. */
export class FileLock {
  readonly path: string
  #fd: number | null

  private constructor(path: string, fd: number) {
    this.path = path
    this.#fd = fd
  }

  /**
   * @returns null while somebody else holds it
   * @throws PctodlError `LEASE_FOLDER` where the file can neither be opened nor made
   */
  static tryAcquire(path: string): FileLock | null {
    flock ??= load(null).func('flock', 'int', ['int', 'int']) as (fd: number, operation: number) => number
    const fd = openLockFile(path)
    if (flock(fd, LOCK_EX | LOCK_NB) !== 0) {
      closeSync(fd)
      return null
    }
    // A file that is no longer the one of this name would be locked beside the one that is.
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
    // Not by closing alone: a process that is being started at this moment still has our files, and with them the lock.
    flock?.(this.#fd, LOCK_UN)
    closeSync(this.#fd)
    this.#fd = null
  }
}

/** Pid of the process that holds the lock on a file, as the kernel tells it; null where nobody does, or it cannot be seen. */
export function lockHolder(path: string): number | null {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    const { ino } = fstatSync(fd)
    closeSync(fd)
    const line = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .find((text) => text.includes(' FLOCK ') && new RegExp(`:${ino} `).test(text) && !text.includes('->'))
    const pid = Number(line?.trim().split(/\s+/)[4])
    // Holders in another pid namespace are shown as 0 or -1.
    return pid > 0 ? pid : null
  } catch {
    return null
  }
}

/** The file is opened for reading only and never removed: a lock needs no more, and a removed file could be locked twice. */
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
      // Somebody else was faster: then it exists now.
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
