import { existsSync, readdirSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { makePrivateFolder, privateFolder, readOwnFile, writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { reasonOf } from '../reason-of.js'
import { FileLock, lockHolder } from './file-lock.js'
import { type LeaseRecord, parseLeaseRecord } from './lease-record.js'

const MAX_JOURNAL_BYTES = 64 * 1024

/** Root and the node service share one folder per machine, so they cannot hold the same board at once. */
export function defaultLeaseFolder(): string {
  if (process.geteuid?.() === 0) return '/var/lib/pctodl/leases'
  const state = process.env['XDG_STATE_HOME'] || path.join(homedir(), '.local', 'state')
  return path.join(state, 'pctodl', 'leases')
}

export class JournalError extends PctodlError {
  constructor(file: string, cause: unknown) {
    const remedy = 'put it right with `pctodl gpu reset`, which also removes the file'
    const why = `${file} is no lease journal (${reasonOf(cause)}); look at the board with \`pctodl gpu status\`, ${remedy}`
    super('LEASE_JOURNAL', why, { cause })
  }
}

/** The lock files and journals of this user's leases, in a folder that only root and this user can write to. */
export class LeaseFolder {
  readonly path: string

  /** @param folder path; default `$PCTODL_LEASE_DIR`, or `defaultLeaseFolder()` */
  constructor(folder?: string) {
    this.path = path.resolve(folder ?? (process.env['PCTODL_LEASE_DIR'] || defaultLeaseFolder()))
  }

  journalFile(uuid: string): string {
    return path.join(this.path, `${uuid}.json`)
  }

  /** Tries to lock a board. Returns null if the lock is already held. @throws PctodlError `LEASE_FOLDER` */
  tryLock(uuid: string): FileLock | null {
    this.#make()
    return FileLock.tryAcquire(path.join(this.path, `${uuid}.lock`))
  }

  /** Whether this user may read the folder. If not, a board without a visible holder may still be held. */
  isVisible(): boolean {
    try {
      return !existsSync(this.path) || this.#isThere()
    } catch {
      return false
    }
  }

  /** Returns the pid of the process that holds the lease on a board. */
  holder(uuid: string): number | null {
    return lockHolder(path.join(this.path, `${uuid}.lock`))
  }

  /** Removes incomplete journals of an owner that was killed before it changed the board. Needs the board's lock. */
  removeUnfinished(uuid: string): void {
    const unfinished = this.#entries().filter(
      (name) => name.startsWith(`${uuid}.json.`) && name.endsWith('.unfinished'),
    )
    for (const name of unfinished) rmSync(path.join(this.path, name), { force: true })
  }

  /** Returns the UUIDs of the boards that have a journal. @throws PctodlError `LEASE_FOLDER` */
  journaled(): string[] {
    return this.#entries().flatMap((name) => (name.endsWith('.json') ? name.slice(0, -'.json'.length) : []))
  }

  /** Reads a board's journal; null if there is none. @throws JournalError; PctodlError `LEASE_FOLDER` */
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
      throw new JournalError(file, error)
    }
  }

  /** @param sync whether to flush to disk; needed only if a crash of the machine could leave a partial file */
  write(record: LeaseRecord, sync = true): void {
    const file = this.journalFile(record.gpu.uuid)
    this.#make()
    try {
      writeFileAtomically(file, `${JSON.stringify(record, null, 2)}\n`, 0o600, sync)
    } catch (cause) {
      const why = `cannot write the journal ${file}: ${reasonOf((cause as Error).cause)}; nothing was changed on the board`
      const remedy = 'Make the folder writable, or name another one in PCTODL_LEASE_DIR'
      throw new PctodlError('LEASE_FOLDER', `${why}. ${remedy}`, { cause })
    }
  }

  remove(uuid: string): void {
    rmSync(this.journalFile(uuid), { force: true })
  }

  #entries(): string[] {
    return this.#isThere() ? readdirSync(this.path) : []
  }

  /**
   * Whether the folder exists and this user may read it. Another user's folder is ignored, because this user does not
   * restore its boards.
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

  #make(): void {
    try {
      makePrivateFolder(this.path)
    } catch (cause) {
      throw this.#unusable(cause)
    }
  }

  #unusable(cause: unknown): PctodlError {
    const why = `leases cannot be kept in ${this.path}: ${reasonOf(cause)}`
    const remedy = 'name a folder that is yours alone in PCTODL_LEASE_DIR, or have the operator run the node service'
    return new PctodlError('LEASE_FOLDER', `${why}; ${remedy} (pctodld)`, { cause })
  }
}
