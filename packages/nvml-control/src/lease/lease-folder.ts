import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { createOwnFile, makePrivateFolder, privateFolder, readOwnFile } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { FileLock, lockHolder } from './file-lock.js'
import { type LeaseRecord, parseLeaseRecord } from './lease-record.js'

const UNFINISHED = '.unfinished'
const MOST_JOURNAL_BYTES = 64 * 1024

/**
 * Where leases are kept unless something else is said: root's are the machine's, another user's are that user's alone. The node
 * service keeps its own in root's folder, so the two never own one board at the same time.
 */
export function defaultLeaseFolder(): string {
  if (process.geteuid?.() === 0) return '/var/lib/pctodl/leases'
  const state = process.env['XDG_STATE_HOME'] || path.join(homedir(), '.local', 'state')
  return path.join(state, 'pctodl', 'leases')
}

/** A journal that is not one. */
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
 * The locks and journals of this user's leases. The folder is private: it is used only where it, and all that leads to it, is in
 * nobody's hands but this user's and root's.
 */
export class LeaseFolder {
  readonly path: string

  /** @param folder default: `$PCTODL_LEASE_DIR`, or `defaultLeaseFolder()` */
  constructor(folder?: string) {
    this.path = path.resolve(folder ?? (process.env['PCTODL_LEASE_DIR'] || defaultLeaseFolder()))
  }

  lockFile(uuid: string): string {
    return path.join(this.path, `${uuid}.lock`)
  }

  journalFile(uuid: string): string {
    return path.join(this.path, `${uuid}.json`)
  }

  /** @returns null while somebody else holds it. @throws PctodlError `LEASE_FOLDER` */
  tryLock(uuid: string): FileLock | null {
    this.#make()
    return FileLock.tryAcquire(this.lockFile(uuid))
  }

  /** Whether this user may look into it, so that no holder means that there is none. */
  isVisible(): boolean {
    try {
      return !existsSync(this.path) || this.#isThere()
    } catch {
      return false
    }
  }

  /** Pid of the process that holds the lease on a board, as the kernel tells it. */
  holder(uuid: string): number | null {
    return lockHolder(this.lockFile(uuid))
  }

  /** What a lease's journal is called until it is whole. */
  unfinishedFile(uuid: string, leaseId: string): string {
    return `${this.journalFile(uuid)}.${leaseId}${UNFINISHED}`
  }

  /** Remove journals that a killed owner did not finish: it had changed nothing yet. The caller holds the board's lock. */
  removeUnfinished(uuid: string): void {
    const name = path.basename(this.journalFile(uuid))
    for (const entry of this.#entries()) {
      if (entry.startsWith(`${name}.`) && entry.endsWith(UNFINISHED))
        rmSync(path.join(this.path, entry), { force: true })
    }
  }

  /** UUIDs of the boards for which there is a journal. @throws PctodlError `LEASE_FOLDER` where the folder is not private */
  journaled(): string[] {
    return this.#entries()
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -'.json'.length))
  }

  /** @returns null where there is none. @throws JournalError; PctodlError `LEASE_FOLDER` where the folder is not private */
  read(uuid: string): LeaseRecord | null {
    if (!this.#isThere()) return null
    const file = this.journalFile(uuid)
    try {
      const text = readOwnFile(file, MOST_JOURNAL_BYTES)
      if (text === null) return null
      const record = parseLeaseRecord(text)
      if (record.gpu.uuid !== uuid) throw new Error(`gpu.uuid: is of another board, ${record.gpu.uuid}`)
      return record
    } catch (error) {
      throw new JournalError(file, error instanceof Error ? error.message : String(error), error)
    }
  }

  /**
   * @param sync whether it is on the disk when this returns: needed only where a crash of the machine could leave half a file
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
   * Whether there is a folder for this user. One that this user may not even look into is somebody else's: what is in it, this
   * user could not put right.
   *
   * @throws PctodlError `LEASE_FOLDER` where it is not private
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

  /** The folder's own entry, so that a new name survives a crash too. */
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
