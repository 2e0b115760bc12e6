import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { FileLock, lockHolder } from './file-lock.js'
import { type LeaseRecord, parseLeaseRecord } from './lease-record.js'

/** One place per machine, or two programs could own one board. */
export const defaultLeaseFolder = '/var/lib/pctodl/leases'

const UNFINISHED = '.unfinished'

/** A journal that is not one. */
export class JournalError extends PctodlError {
  readonly file: string

  constructor(file: string, reason: string, cause: unknown) {
    super(
      'LEASE_JOURNAL',
      `${file} is no lease journal (${reason}); look at the board with \`pctodl-gpu status\`, put it right with ` +
        '`pctodl-gpu reset`, which also removes the file',
      { cause },
    )
    this.file = file
  }
}

/** A journal and the user who wrote it. */
export interface JournalEntry {
  readonly record: LeaseRecord
  readonly uid: number
}

/** The locks and journals of this machine's leases. */
export class LeaseFolder {
  readonly path: string

  /** @param folder default: `$PCTODL_LEASE_DIR`, or `/var/lib/pctodl/leases` */
  constructor(folder?: string) {
    this.path = path.resolve(folder ?? (process.env['PCTODL_LEASE_DIR'] || defaultLeaseFolder))
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

  /** UUIDs of the boards for which there is a journal. */
  journaled(): string[] {
    return this.#entries()
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -'.json'.length))
  }

  /** @returns null where there is none. @throws JournalError */
  read(uuid: string): JournalEntry | null {
    const file = this.journalFile(uuid)
    let fd: number
    try {
      fd = openSync(file, 'r')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
    try {
      const record = parseLeaseRecord(readFileSync(fd, 'utf8'))
      if (record.gpu.uuid !== uuid) throw new Error(`gpu.uuid: is of another board, ${record.gpu.uuid}`)
      return { record, uid: fstatSync(fd).uid }
    } catch (error) {
      throw new JournalError(file, error instanceof Error ? error.message : String(error), error)
    } finally {
      closeSync(fd)
    }
  }

  /** When this returns, the record is on the disk. @throws PctodlError `LEASE_FOLDER` */
  write(record: LeaseRecord): void {
    const file = this.journalFile(record.gpu.uuid)
    const unfinished = this.unfinishedFile(record.gpu.uuid, record.leaseId)
    try {
      const fd = openSync(unfinished, 'w', 0o644)
      try {
        writeSync(fd, `${JSON.stringify(record, null, 2)}\n`)
        fsyncSync(fd)
      } finally {
        closeSync(fd)
      }
      renameSync(unfinished, file)
      this.#sync()
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

  /** None where there is no folder yet, or where this user may not look: then there is nothing that it could put right. */
  #entries(): string[] {
    try {
      return readdirSync(this.path)
    } catch (error) {
      if (['ENOENT', 'EACCES', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
      throw error
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
    if (existsSync(this.path)) return
    try {
      mkdirSync(this.path, { recursive: true, mode: 0o755 })
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new PctodlError(
        'LEASE_FOLDER',
        `cannot make ${this.path}, where leases are kept: ${reason}; have the operator make it ` +
          `(\`pctodl-gpu sudoers\` shows how), or name another folder in PCTODL_LEASE_DIR`,
        { cause },
      )
    }
  }
}
