import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { createOwnFile, makePrivateFolder, privateFolder, readOwnFile } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { FileLock, lockHolder } from './file-lock.js'
import { type LeaseRecord, parseLeaseRecord } from './lease-record.js'

const UNFINISHED = '.unfinished'
const MAX_JOURNAL_BYTES = 64 * 1024

/**
 * Returns the default lease folder: one per machine for root, a private one for any other user. The node service uses
 * root's folder, so root and the service cannot hold the same board at once.
 */
export function defaultLeaseFolder(): string {
  if (process.geteuid?.() === 0) return '/var/lib/pctodl/leases'
  const state = process.env['XDG_STATE_HOME'] || path.join(homedir(), '.local', 'state')
  return path.join(state, 'pctodl', 'leases')
}

/** A journal file that cannot be parsed. */
export class JournalError extends PctodlError {
  readonly file: string

  constructor(file: string, reason: string, cause: unknown) {
    super(
      'LEASE_JOURNAL',
      `${file} is no lease journal (${reason}); look at the board with \`pctodl gpu status\`, put it right with ` +
        '`pctodl gpu reset`, which also removes the file',
      { cause },
    )
    this.file = file
  }
}

/**
 * The lock files and journals of this user's leases. The folder is rejected if any user except root and this user can
 * write to it or to a folder above it.
 */
export class LeaseFolder {
  readonly path: string

  /** @param folder path; default `$PCTODL_LEASE_DIR`, or `defaultLeaseFolder()` */
  constructor(folder?: string) {
    this.path = path.resolve(folder ?? (process.env['PCTODL_LEASE_DIR'] || defaultLeaseFolder()))
  }

  lockFile(uuid: string): string {
    return path.join(this.path, `${uuid}.lock`)
  }

  journalFile(uuid: string): string {
    return path.join(this.path, `${uuid}.json`)
  }

  /**
   * Tries to lock a board.
   * @returns null if the lock is already held
   * @throws PctodlError `LEASE_FOLDER`
   */
  tryLock(uuid: string): FileLock | null {
    this.#make()
    return FileLock.tryAcquire(this.lockFile(uuid))
  }

  /** Whether this user may read the folder. If not, a board without a visible holder may still be held. */
  isVisible(): boolean {
    try {
      return !existsSync(this.path) || this.#isThere()
    } catch {
      return false
    }
  }

  /** Returns the pid of the process that holds the lease on a board, from /proc/locks. */
  holder(uuid: string): number | null {
    return lockHolder(this.lockFile(uuid))
  }

  /** Returns the path of a lease's journal while it is being written. */
  unfinishedFile(uuid: string, leaseId: string): string {
    return `${this.journalFile(uuid)}.${leaseId}${UNFINISHED}`
  }

  /**
   * Removes incomplete journals of an owner that was killed before it changed the board. The caller must hold the
   * board's lock.
   */
  removeUnfinished(uuid: string): void {
    const name = path.basename(this.journalFile(uuid))
    for (const entry of this.#entries()) {
      if (entry.startsWith(`${name}.`) && entry.endsWith(UNFINISHED))
        rmSync(path.join(this.path, entry), { force: true })
    }
  }

  /**
   * Returns the UUIDs of the boards that have a journal. @throws PctodlError `LEASE_FOLDER` if the folder is not
   * private
   */
  journaled(): string[] {
    return this.#entries()
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -'.json'.length))
  }

  /**
   * Reads the journal of a board.
   * @returns null if there is no journal
   * @throws JournalError; PctodlError `LEASE_FOLDER` if the folder is not private
   */
  read(uuid: string): LeaseRecord | null {
    if (!this.#isThere()) return null
    const file = this.journalFile(uuid)
    try {
      const text = readOwnFile(file, MAX_JOURNAL_BYTES)
      if (text === null) return null
      const record = parseLeaseRecord(text)
      if (record.gpu.uuid !== uuid) throw new Error(`gpu.uuid: is of another board, ${record.gpu.uuid}`)
      return record
    } catch (error) {
      throw new JournalError(file, error instanceof Error ? error.message : String(error), error)
    }
  }

  /**
   * Writes the journal of a board.
   * @param sync whether to flush to disk before returning; needed only if a machine crash could leave a partial file
   * @throws PctodlError `LEASE_FOLDER`
   */
  write(record: LeaseRecord, sync = true): void {
    const file = this.journalFile(record.gpu.uuid)
    const unfinished = this.unfinishedFile(record.gpu.uuid, record.leaseId)
    this.#make()
    try {
      const fd = createOwnFile(unfinished)
      try {
        writeSync(fd, `${JSON.stringify(record, null, 2)}\n`)
        if (sync) fsyncSync(fd)
      } finally {
        closeSync(fd)
      }
      renameSync(unfinished, file)
      if (sync) this.#sync()
    } catch (cause) {
      rmSync(unfinished, { force: true })
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new PctodlError(
        'LEASE_FOLDER',
        `cannot write the journal ${file}: ${reason}; nothing was changed on the board. Make the folder writable, or name ` +
          'another one in PCTODL_LEASE_DIR',
        { cause },
      )
    }
  }

  /** Idempotent. */
  remove(uuid: string): void {
    const file = this.journalFile(uuid)
    if (!existsSync(file)) return
    rmSync(file, { force: true })
    this.#sync()
  }

  #entries(): string[] {
    return this.#isThere() ? readdirSync(this.path) : []
  }

  /**
   * Whether the folder exists and this user may read it. A folder that cannot be read belongs to another user, whose
   * boards this user does not restore.
   *
   * @throws PctodlError `LEASE_FOLDER` if the folder is not private
   */
  #isThere(): boolean {
    try {
      privateFolder(this.path)
      return true
    } catch (error) {
      if (['ENOENT', 'EACCES', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
      throw this.#unusable(error)
    }
  }

  /** Flushes the folder to disk too, so that the name of a new file survives a machine crash. */
  #sync(): void {
    const fd = openSync(this.path, 'r')
    try {
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  }

  #make(): void {
    try {
      makePrivateFolder(this.path)
    } catch (cause) {
      throw this.#unusable(cause)
    }
  }

  #unusable(cause: unknown): PctodlError {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return new PctodlError(
      'LEASE_FOLDER',
      `leases cannot be kept in ${this.path}: ${reason}; name a folder that is yours alone in PCTODL_LEASE_DIR, or have the ` +
        'operator run the node service (pctodld)',
      { cause },
    )
  }
}
