import { closeSync, existsSync, fstatSync, ftruncateSync, renameSync, writeSync } from 'node:fs'
import path from 'node:path'
import { makePrivateFolder, openToWrite } from '@pctodl/command-line'
import { reasonOf } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { Peer } from './peer-credentials.js'

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
  /** The MIG instance, if the entry concerns only one instance. */
  readonly instance?: string
  readonly peer?: Peer
  readonly program?: string
  /** Details for people, without arguments of programs. */
  readonly detail?: string
}

/** Maximum size of a log file, bytes. One older file is kept, so the log takes at most twice this space. */
const MAX_BYTES = 64 * 1024 * 1024
/** Maximum number of refusals that are logged per user and minute. Further refusals are only counted. */
const MAX_REFUSALS = 30
/** Maximum length of an entry's detail, characters. The detail may contain text from a client. */
const MAX_DETAIL = 500
const MINUTE_MS = 60_000
/** Maximum number of users whose refusals are counted separately; all further users share one count. */
const MAX_USERS = 256
const THE_OTHERS = -1

interface Refusals {
  readonly sinceMs: number
  written: number
  left: number
}

/** Log of every decision and change, one JSON value per line. Only the service's user can read it. */
export class AuditLog {
  readonly file: string
  readonly #maxBytes: number
  readonly #refusals = new Map<number, Refusals>()
  #fd: number
  #isClosed = false

  /** @param options.maxBytes size at which a new file is begun. The previous one is kept as `audit.1.jsonl`. */
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

  /** Logs an action before it is performed. @throws PctodlError `AUDIT_LOG`; the action must then not be performed */
  add(entry: AuditEntry): void {
    try {
      this.#write(entry)
    } catch (cause) {
      throw this.#cannotWrite(cause)
    }
  }

  /** Logs an event, or an action that must be performed even if the disk is full. Returns whether it was written. */
  note(entry: AuditEntry): boolean {
    try {
      this.#write(entry)
      return true
    } catch {
      return false
    }
  }

  /** Logs a refusal, up to a limit per user and minute: refusals must not fill the disk or displace other entries. */
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
    // Entries that are written to a removed file would be lost, so a new file is begun.
    if (isFull || nlink === 0) this.#beginAnew()
    const { size: before } = fstatSync(this.#fd)
    if (writeSync(this.#fd, line) < Buffer.byteLength(line)) {
      // Removes the partial line. Otherwise the next entry would continue it, and neither could be read.
      ftruncateSync(this.#fd, before)
      throw new Error('no space left for a whole line')
    }
  }

  #beginAnew(): void {
    // The file is missing if an earlier attempt renamed it and then could not create a new one.
    if (existsSync(this.file)) renameSync(this.file, path.join(path.dirname(this.file), 'audit.1.jsonl'))
    const before = this.#fd
    this.#fd = openLog(this.file)
    closeSync(before)
  }

  #cannotWrite(cause: unknown): PctodlError {
    const why = `cannot write ${this.file}: ${reasonOf(cause)}; nothing is changed without it`
    return new PctodlError('AUDIT_LOG', why, { cause })
  }
}

/** Escapes control characters that JSON leaves as they are. A terminal that shows the log would execute them. */
function harmless(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function openLog(file: string): number {
  const fd = openToWrite(file, { existing: 'append', mode: 0o600 })
  // Only a regular file keeps the entries; a device file, for example, would discard them.
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw new Error('it is no file')
}
