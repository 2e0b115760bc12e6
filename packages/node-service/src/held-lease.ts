import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { given } from '@pctodl/command-line'
import { MpsDaemon, type MpsDaemonOptions } from '@pctodl/mps-control'
import type { BoardChange, ServiceResults } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { Peer } from './peer-credentials.js'

export interface Holder {
  readonly peer: Peer
  readonly program: string
  /** Called when a lease ends without its holder's request. */
  readonly onEnded: (target: string, reason: string) => void
}

/**
 * Whether two holders are the same program, which may hold the leases of a board and of its instances. Processes of
 * other pid namespaces all have pid 0 here, so they count as different programs.
 */
export function isSameProgram(a: Holder, b: Holder): boolean {
  return a.peer.pid > 0 && a.peer.pid === b.peer.pid && a.peer.uid === b.peer.uid
}

export interface HeldLeaseOptions {
  /** UUID of a board or of a MIG instance. */
  readonly target: string
  readonly holder: Holder
  /** The board or instance on which the MPS daemon's clients must run. */
  readonly device: NonNullable<MpsDaemonOptions['device']>
  readonly mpsFolder: string
  readonly mpsProgram?: string | undefined
  readonly onMps: (event: 'mps-started' | 'mps-stopped', detail?: string) => void
  /** Time without a request of the holder after which `onSilent` is called, ms. Default: never. */
  readonly silenceMs?: number | undefined
  readonly onSilent?: () => void
}

export class HeldLease {
  readonly target: string
  readonly holder: Holder
  readonly since: string = new Date().toISOString()
  readonly #sinceMs = performance.now()
  readonly changes: Map<BoardChange['kind'], BoardChange> = new Map()
  /** Settles when the lease has ended; null until it begins to end. */
  ending: Promise<void> | null = null
  /** Why the lease is ending without its holder's request; null otherwise. */
  endingBecause: string | null = null
  readonly #options: HeldLeaseOptions
  readonly #leaving = new AbortController()
  #heardMs = performance.now()
  readonly #silence: NodeJS.Timeout | undefined
  mps: MpsDaemon | null = null
  #starting: Promise<ServiceResults['mps-start']> | null = null

  constructor(options: HeldLeaseOptions) {
    this.#options = options
    this.target = options.target
    this.holder = options.holder
    const { silenceMs, onSilent } = options
    const end = (dueMs: number) => {
      if (this.#heardMs < dueMs) onSilent?.()
    }
    // The timer may be late because the service was suspended, so the holder's waiting messages are read before the
    // lease ends.
    const due = () => setImmediate(end, performance.now())
    this.#silence = silenceMs === undefined ? undefined : setTimeout(due, silenceMs)
  }

  heard(): void {
    this.#heardMs = performance.now()
    this.#silence?.refresh()
  }

  /** @throws PctodlError `LEASE_RELEASED` if the lease has begun to end */
  assertHeld(): void {
    if (!this.ending) return
    const why = this.endingBecause ?? 'its holder has released it'
    throw new PctodlError('LEASE_RELEASED', `the lease on ${this.target} is being ended: ${why}`)
  }

  /** Time since the lease began, ms, unaffected by changes of the system time. */
  get lastedMs(): number {
    return performance.now() - this.#sinceMs
  }

  async startMps(defaultPercent: number | undefined): Promise<ServiceResults['mps-start']> {
    if (this.mps || this.#starting)
      throw new PctodlError('MPS_ALREADY_RUNNING', `the lease on ${this.target} has its MPS daemon already`)
    this.#starting = this.#start(defaultPercent).finally(() => {
      this.#starting = null
    })
    return this.#starting
  }

  async verifyMpsClient(pid: number): Promise<void> {
    if (!this.mps) throw new PctodlError('MPS_NO_DAEMON', `the lease on ${this.target} has no MPS daemon`)
    const { signal } = this.#leaving
    try {
      await this.mps.verifyClient(pid, { timeoutMs: 10_000, signal })
    } catch (error) {
      // If the lease is ending, the client gets this error. A retry would keep the daemon's folder in use and delay
      // restoring the board.
      if (signal.aborted) throw this.#hasEnded()
      throw error
    }
  }

  /** @param graceMs time that its clients have to exit, ms; null ends them at once, because the holder is gone */
  async stopMps(graceMs: number | null): Promise<string> {
    const { mps } = this
    if (!mps) return 'not-running'
    const how = graceMs === null ? 'cut off' : await mps.stop({ graceMs })
    if (graceMs === null) await mps.cutOff()
    this.mps = null
    removePlace(mps.place.directory)
    this.#options.onMps('mps-stopped', how)
    return how
  }

  /** Ends the lease's MPS daemon, even if it is still starting, and prevents another start. Errors are only logged. */
  async leave(): Promise<void> {
    clearTimeout(this.#silence)
    // A daemon that is still starting has no clients yet, so abort its start.
    this.#leaving.abort()
    await this.#starting?.catch(() => {})
    await this.stopMps(null).catch((error) => this.#options.onMps('mps-stopped', String(error)))
  }

  #hasEnded(): PctodlError {
    return new PctodlError('LEASE_RELEASED', `the lease on ${this.target} has ended`)
  }

  async #start(defaultPercent: number | undefined): Promise<ServiceResults['mps-start']> {
    const { target, holder, device, mpsFolder, mpsProgram, onMps } = this.#options
    // Each start uses a new folder, so that files of an earlier daemon do not interfere. The name is short, because
    // paths of sockets have a limited length.
    const directory = path.join(mpsFolder, randomBytes(6).toString('hex'))
    const mps = new MpsDaemon({ directory, device, ...given({ program: mpsProgram }) })
    try {
      const { signal } = this.#leaving
      await mps.start({ uid: holder.peer.uid, deviceUuids: [target], signal, ...given({ defaultPercent }) })
    } catch (error) {
      // The end of the daemon's log is read before the folder with the log is removed.
      const lastWords = mps.place.lastWords()
      removePlace(directory)
      if (lastWords !== '' && error instanceof PctodlError) error.message += `; its log ends with: ${lastWords}`
      if (this.#leaving.signal.aborted) throw this.#hasEnded()
      throw error
    }
    this.mps = mps
    onMps('mps-started')
    const { pipeDirectory, logDirectory } = mps.place
    return { pid: mps.place.daemon()?.pid ?? 0, pipeDirectory, logDirectory }
  }
}

function removePlace(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
}
