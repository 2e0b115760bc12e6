import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { MpsDaemon, type MpsDaemonOptions } from '@pctodl/mps-control'
import type { BoardChange, ChangeKind, LeaseReport } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { Peer } from './peer-credentials.js'

/** Who a lease is for. */
export interface Holder {
  readonly peer: Peer
  readonly program: string
  /** Told when the lease ends without the holder's asking. */
  readonly onEnded: (target: string, reason: string) => void
}

/**
 * Whether two leases are one program's: then they do not keep each other out of one board. Processes that the kernel cannot name here,
 * those of another pid namespace, all have the number 0.
 */
export function isSameProgram(a: Holder, b: Holder): boolean {
  return a.peer.pid > 0 && a.peer.pid === b.peer.pid && a.peer.uid === b.peer.uid
}

export interface HeldLeaseOptions {
  /** UUID of a board, or of a MIG instance. */
  readonly target: string
  readonly holder: Holder
  /** Where clients of its MPS daemon must be. */
  readonly device: NonNullable<MpsDaemonOptions['device']>
  /** Folder for the places of MPS daemons: root's. */
  readonly mpsFolder: string
  /** The MPS control program: a path, or a name on PATH. */
  readonly mpsProgram?: string | undefined
  readonly onMps: (event: 'mps-started' | 'mps-stopped', detail?: string) => void
}

type MpsEnvironment = MpsDaemon['place']['environment']

/** One lease: whose it is, since when, and the MPS daemon that it has. */
export class HeldLease {
  readonly target: string
  readonly holder: Holder
  readonly since: string = new Date().toISOString()
  readonly #sinceMs = performance.now()
  /** What it has set, by kind. */
  readonly changes: Map<ChangeKind, BoardChange> = new Map()
  /** What the holder tells of itself. */
  report: LeaseReport | null = null
  /** Set once it is being ended. */
  ending: Promise<void> | null = null
  readonly #options: HeldLeaseOptions
  readonly #leaving = new AbortController()
  #mps: MpsDaemon | null = null
  /** While its daemon is being started. */
  #starting: Promise<unknown> | null = null

  constructor(options: HeldLeaseOptions) {
    this.#options = options
    this.target = options.target
    this.holder = options.holder
  }

  /** How long it has lasted, ms, whatever becomes of the time of day. */
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
      // Further requests would keep the daemon's folder in use, and so delay the restoration of the board.
      if (signal.aborted) throw this.#hasEnded()
      throw error
    }
  }

  /** @param graceMs how long its clients may take to leave; null where their owner is gone */
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

  /** Its daemon ends, whatever it is about, and none is started any more. What fails is told. */
  async leave(): Promise<void> {
    // A daemon that is being started has no clients yet, and is ended by its start.
    this.#leaving.abort()
    await this.#starting?.catch(() => {})
    await this.stopMps(null).catch((error) => this.#options.onMps('mps-stopped', String(error)))
  }

  #hasEnded(): PctodlError {
    return new PctodlError('LEASE_RELEASED', `the lease on ${this.target} has ended`)
  }

  async #start(defaultPercent: number | undefined): Promise<{ pid: number; environment: MpsEnvironment }> {
    const { target, holder, device, mpsFolder, mpsProgram, onMps } = this.#options
    // A place of its own for each start, so that nothing of an earlier one is met there; short, for a socket's path may not be long.
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
      // What the daemon has said of it goes with its place.
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
