import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { MpsDaemon, type MpsDaemonOptions } from '@pctodl/mps-control'
import type { BoardChange, ChangeKind, LeaseReport } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { Peer } from './peer-credentials.js'

/** The holder of a lease. */
export interface Holder {
  readonly peer: Peer
  readonly program: string
  /** Called when the lease ends without the holder's request. */
  readonly onEnded: (target: string, reason: string) => void
}

/**
 * Whether two leases belong to one program, and so do not exclude each other on one board. Processes in another pid
 * namespace all appear with pid 0, so they are never the same.
 */
export function isSameProgram(a: Holder, b: Holder): boolean {
  return a.peer.pid > 0 && a.peer.pid === b.peer.pid && a.peer.uid === b.peer.uid
}

export interface HeldLeaseOptions {
  /** UUID of a board, or of a MIG instance. */
  readonly target: string
  readonly holder: Holder
  /** Where clients of its MPS daemon must run. */
  readonly device: NonNullable<MpsDaemonOptions['device']>
  /** Folder for the working folders of MPS daemons; owned by root. */
  readonly mpsFolder: string
  /** The MPS control program: a path, or a name on PATH. */
  readonly mpsProgram?: string | undefined
  readonly onMps: (event: 'mps-started' | 'mps-stopped', detail?: string) => void
}

type MpsEnvironment = MpsDaemon['place']['environment']

/** One lease: its holder, its age, and its MPS daemon. */
export class HeldLease {
  readonly target: string
  readonly holder: Holder
  readonly since: string = new Date().toISOString()
  readonly #sinceMs = performance.now()
  /** The changes that it has made, by kind. */
  readonly changes: Map<ChangeKind, BoardChange> = new Map()
  /** The holder's last report. */
  report: LeaseReport | null = null
  /** Set while it is being ended. */
  ending: Promise<void> | null = null
  /** Why it is ending without its holder's request; null otherwise. */
  endingBecause: string | null = null
  readonly #options: HeldLeaseOptions
  readonly #leaving = new AbortController()
  #mps: MpsDaemon | null = null
  /** Set while its daemon is being started. */
  #starting: Promise<unknown> | null = null

  constructor(options: HeldLeaseOptions) {
    this.#options = options
    this.target = options.target
    this.holder = options.holder
  }

  /** Age of the lease, ms; unaffected by changes of the system time. */
  get lastedMs(): number {
    return performance.now() - this.#sinceMs
  }

  get mps(): MpsDaemon | null {
    return this.#mps
  }

  /** @throws MpsError; PctodlError `MPS_ALREADY_RUNNING` */
  async startMps(
    defaultPercent: number | undefined,
  ): Promise<{ readonly pid: number; readonly environment: MpsEnvironment }> {
    if (this.#mps || this.#starting)
      throw new PctodlError('MPS_ALREADY_RUNNING', `the lease on ${this.target} has its MPS daemon already`)
    const starting = this.#start(defaultPercent)
    this.#starting = starting
    try {
      return await starting
    } finally {
      this.#starting = null
    }
  }

  async verifyMpsClient(pid: number): Promise<void> {
    if (!this.#mps) throw new PctodlError('MPS_NO_DAEMON', `the lease on ${this.target} has no MPS daemon`)
    const { signal } = this.#leaving
    try {
      await this.#mps.verifyClient(pid, { timeoutMs: 10_000, signal })
    } catch (error) {
      // Further requests would keep the daemon's folder in use and so delay the restoration of the board.
      if (signal.aborted) throw this.#hasEnded()
      throw error
    }
  }

  /** @param graceMs time for its clients to leave, ms; null if their owner is gone */
  async stopMps(graceMs: number | null): Promise<string> {
    const mps = this.#mps
    if (!mps) return 'not-running'
    const how = graceMs === null ? 'cut off' : await mps.stop({ graceMs })
    if (graceMs === null) await mps.cutOff({ all: true })
    this.#mps = null
    removePlace(mps.place.directory)
    this.#options.onMps('mps-stopped', how)
    return how
  }

  /**
   * End the lease's MPS daemon, even while it is starting, and allow no further one. A failure is reported, not thrown.
   */
  async leave(): Promise<void> {
    // A daemon that is being started has no clients yet; aborting the start ends it.
    this.#leaving.abort()
    await this.#starting?.catch(() => {})
    await this.stopMps(null).catch((error) => this.#options.onMps('mps-stopped', String(error)))
  }

  #hasEnded(): PctodlError {
    return new PctodlError('LEASE_RELEASED', `the lease on ${this.target} has ended`)
  }

  async #start(defaultPercent: number | undefined): Promise<{ pid: number; environment: MpsEnvironment }> {
    const { target, holder, device, mpsFolder, mpsProgram, onMps } = this.#options
    // A new folder for each start, so that leftovers of an earlier daemon do not interfere. The name is short because
    // socket paths are limited.
    const directory = path.join(mpsFolder, randomBytes(6).toString('hex'))
    const mps = new MpsDaemon({ directory, device, ...(mpsProgram === undefined ? {} : { program: mpsProgram }) })
    try {
      await mps.start({
        uid: holder.peer.uid,
        deviceUuids: [target],
        signal: this.#leaving.signal,
        ...(defaultPercent === undefined ? {} : { defaultPercent }),
      })
    } catch (error) {
      // The daemon's log is removed with its folder, so read it first.
      const lastWords = mps.place.lastWords()
      removePlace(directory)
      if (lastWords !== '' && error instanceof PctodlError) error.message += `; its log ends with: ${lastWords}`
      if (this.#leaving.signal.aborted) throw this.#hasEnded()
      throw error
    }
    this.#mps = mps
    onMps('mps-started')
    return { pid: mps.place.daemon()?.pid ?? 0, environment: mps.place.environment }
  }
}

function removePlace(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
}
