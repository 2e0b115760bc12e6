import { closeSync, existsSync, fstatSync, ftruncateSync, renameSync, writeSync } from 'node:fs'
import path from 'node:path'
import { makePrivateFolder, openToWrite } from '@pctodl/command-line'

import { PctodlError } from '@pctodl/platform'
import type { Peer } from './peer-credentials.js'

/** An event, the board concerned, and on whose behalf it happened. */
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
  /** The MIG instance, if the entry concerns only that. */
  readonly instance?: string
  readonly peer?: Peer
  readonly program?: string
  /** Human-readable details. Never contains a program's arguments. */
  readonly detail?: string
}

/** Maximum size of one log file, bytes; with its predecessor, the log takes at most twice this. */
const MAX_BYTES = 64 * 1024 * 1024
/** Refusals logged per user and minute; further ones are only counted. */
const MAX_REFUSALS = 30
/** Maximum length of an entry's detail, characters: it may contain client input. */
const MAX_DETAIL = 500
const MINUTE_MS = 60_000
/** Users with a refusal count of their own; all others share one. */
const MAX_USERS = 256
const THE_OTHERS = -1

interface Refusals {
  readonly sinceMs: number
  written: number
  left: number
}

/** Log of every decision and change: one JSON value per line, in an append-only file that only this user can read. */
export class AuditLog {
  readonly file: string
  readonly #maxBytes: number
  readonly #refusals = new Map<number, Refusals>()
  #fd: number
  #isClosed = false

  /**
   * @param options.maxBytes size at which a new log is started; the previous one is kept as `audit.1.jsonl`. Default 64
   *   MiB
   * @throws PctodlError `AUDIT_LOG` if the log cannot be written: an action that cannot be logged is not performed
   */
  constructor(folder: string, { maxBytes = MAX_BYTES }: { readonly maxBytes?: number } = {}) {
    this.file = path.join(folder, 'audit.jsonl')
    this.#maxBytes = maxBytes
    try {
      makePrivateFolder(folder)
      this.#fd = openLog(this.file)
    } catch (cause) {
      throw this.#cannotWrite(cause)
    }
  }

  /**
   * Log an action before it is performed.
   *
   * @throws PctodlError `AUDIT_LOG` if it cannot be written: then do not perform the action
   */
  add(entry: AuditEntry): void {
    try {
      this.#write(entry)
    } catch (cause) {
      throw this.#cannotWrite(cause)
    }
  }

  /**
   * Log what has already happened or must happen in any case, and so must not fail because the disk is full.
   *
   * @returns whether it was written
   */
  note(entry: AuditEntry): boolean {
    try {
      this.#write(entry)
      return true
    } catch {
      return false
    }
  }

  /**
   * Log a refusal. Beyond a limit per user and minute, refusals are only counted, so that nobody can fill the disk with
   * refused requests or bury other entries.
   */
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
    const { size, nlink } = fstatSync(this.#fd)
    const isFull = size > 0 && size + line.length > this.#maxBytes
    // A file that somebody has removed keeps nothing.
    if (isFull || nlink === 0) this.#beginAnew()
    const { size: before } = fstatSync(this.#fd)
    if (writeSync(this.#fd, line) < Buffer.byteLength(line)) {
      // A partial line would corrupt the next one too.
      ftruncateSync(this.#fd, before)
      throw new Error('no space left for a whole line')
    }
  }

  #beginAnew(): void {
    // The file is missing if an earlier attempt renamed it but had no room for a new one.
    if (existsSync(this.file)) renameSync(this.file, path.join(path.dirname(this.file), 'audit.1.jsonl'))
    const before = this.#fd
    this.#fd = openLog(this.file)
    closeSync(before)
  }

  #cannotWrite(cause: unknown): PctodlError {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return new PctodlError('AUDIT_LOG', `cannot write ${this.file}: ${reason}; nothing is changed without it`, {
      cause,
    })
  }
}

/** Escape the control characters that JSON leaves as they are, because a terminal would obey them. */
function harmless(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function openLog(file: string): number {
  const fd = openToWrite(file, { existing: 'append', mode: 0o600 })
  // A device file would accept everything and keep nothing.
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw new Error('it is no file')
}
