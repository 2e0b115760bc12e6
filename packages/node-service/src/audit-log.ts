import { closeSync, existsSync, fstatSync, ftruncateSync, renameSync, writeSync } from 'node:fs'
import path from 'node:path'
import { makePrivateFolder, openToWrite } from '@pctodl/command-line'

import { PctodlError } from '@pctodl/platform'
import type { Peer } from './peer-credentials.js'

/** What happened, to which board, on whose behalf. */
export interface AuditEntry {
  readonly event:
    | 'service-started'
    | 'service-stopped'
    | 'refused'
    | 'lease-acquired'
    | 'changed'
    | 'changed-by-others'
    | 'lease-ended'
    | 'restored'
    | 'not-restored'
    | 'mps-started'
    | 'mps-stopped'
    | 'board-lost'
    | 'board-found'
    | 'board-event'
    | 'policy'
  readonly board?: string
  /** The MIG instance, where it is about that alone. */
  readonly instance?: string
  readonly peer?: Peer
  readonly program?: string
  /** What exactly, for people. Never an argument of a program. */
  readonly detail?: string
}

/** The log and the one before it take at most twice this, bytes. */
const MAX_BYTES = 64 * 1024 * 1024
/** Refusals of one user that are written down within a minute; of the others, only how many there were. */
const MAX_REFUSALS = 30
/** Characters of an entry's detail; what a client has sent may be in it. */
const MAX_DETAIL = 500
const MINUTE_MS = 60_000
/** Users whose refusals are counted; those beyond share one count. */
const MAX_USERS = 256
const THE_OTHERS = -1

interface Refusals {
  readonly sinceMs: number
  written: number
  left: number
}

/** Every decision and every change, one JSON value a line, in a file that only this user can read and that only grows. */
export class AuditLog {
  readonly file: string
  readonly #maxBytes: number
  readonly #refusals = new Map<number, Refusals>()
  #fd: number
  #bytes: number
  #isClosed = false

  /**
   * @param options.maxBytes size at which the log begins anew; the one before it stays as `audit.1.jsonl`. Default 64 MiB
   * @throws PctodlError `AUDIT_LOG` where it cannot be written: what is not written down is not done
   */
  constructor(folder: string, { maxBytes = MAX_BYTES }: { readonly maxBytes?: number } = {}) {
    this.file = path.join(folder, 'audit.jsonl')
    this.#maxBytes = maxBytes
    try {
      makePrivateFolder(folder)
      this.#fd = openLog(this.file)
      this.#bytes = fstatSync(this.#fd).size
    } catch (cause) {
      throw this.#cannotWrite(cause)
    }
  }

  /** @throws PctodlError `AUDIT_LOG` where it cannot be written: for what is done only if it is written down */
  add(entry: AuditEntry): void {
    try {
      this.#write(entry)
    } catch (cause) {
      throw this.#cannotWrite(cause)
    }
  }

  /**
   * For what has happened already, or must happen in any case: that must not fail for want of room on a disk.
   *
   * @returns whether it could be written down
   */
  note(entry: AuditEntry): boolean {
    try {
      this.#write(entry)
      return true
    } catch {
      return false
    }
  }

  /** Nobody fills the disk, or hides in the crowd, by asking for what is refused: beyond some a minute only their number is told. */
  refused(peer: Peer, program: string, detail: string): void {
    const nowMs = performance.now()
    for (const [uid, { sinceMs }] of this.#refusals) if (nowMs - sinceMs >= MINUTE_MS) this.#forget(uid)
    const uid = this.#refusals.has(peer.uid) || this.#refusals.size < MAX_USERS ? peer.uid : THE_OTHERS
    const refusals = this.#refusals.get(uid) ?? { sinceMs: nowMs, written: 0, left: 0 }
    this.#refusals.set(uid, refusals)
    if (refusals.written >= MAX_REFUSALS) refusals.left++
    else {
      refusals.written++
      this.note({ event: 'refused', peer, program, detail })
    }
  }

  /** Idempotent. */
  close(): void {
    if (this.#isClosed) return
    for (const uid of [...this.#refusals.keys()]) this.#forget(uid)
    this.#isClosed = true
    closeSync(this.#fd)
  }

  #forget(uid: number): void {
    const left = this.#refusals.get(uid)?.left ?? 0
    this.#refusals.delete(uid)
    if (left === 0) return
    const what = `${left} more within a minute`
    if (uid === THE_OTHERS) this.note({ event: 'refused', detail: `${what}, of many users` })
    else this.note({ event: 'refused', peer: { uid, pid: 0, gid: 0, groups: [] }, detail: what })
  }

  #write({ peer, ...entry }: AuditEntry): void {
    const who = peer ? { uid: peer.uid, pid: peer.pid, workload: peer.workload } : {}
    const { detail } = entry
    const short = detail === undefined ? {} : { detail: detail.slice(0, MAX_DETAIL) }
    const line = `${harmless(JSON.stringify({ at: new Date().toISOString(), ...entry, ...short, ...who }))}\n`
    if (this.#bytes > 0 && this.#bytes + line.length > this.#maxBytes) this.#beginAnew()
    const written = writeSync(this.#fd, line)
    if (written < Buffer.byteLength(line)) {
      // Half a line would spoil the one after it, too.
      ftruncateSync(this.#fd, this.#bytes)
      throw new Error('no space left for a whole line')
    }
    this.#bytes += written
  }

  #beginAnew(): void {
    // It is not there where there was no room for the next one before.
    if (existsSync(this.file)) renameSync(this.file, path.join(path.dirname(this.file), 'audit.1.jsonl'))
    const before = this.#fd
    this.#fd = openLog(this.file)
    this.#bytes = 0
    closeSync(before)
  }

  #cannotWrite(cause: unknown): PctodlError {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return new PctodlError('AUDIT_LOG', `cannot write ${this.file}: ${reason}; nothing is changed without it`, {
      cause,
    })
  }
}

/** Without what a terminal would obey: JSON itself escapes only a part of the control characters. */
function harmless(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function openLog(file: string): number {
  const fd = openToWrite(file, { existing: 'append', mode: 0o600 })
  // A device would take everything and keep nothing.
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw new Error('it is no file')
}
