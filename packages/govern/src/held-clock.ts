import { type NvmlGpu, ServiceLease } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'

/**
 * The node service ends a lease if its holder is silent for this time, ms. The operator's clocks are then back within 5
 * s.
 */
const SILENCE_MS = 4000
/** Interval between heartbeats of the lease, ms. */
const HEARTBEAT_MS = 1000
/** Interval between attempts to regain a lost lease, ms. */
const RETRY_MS = 5000

export interface HeldClockOptions {
  readonly gpu: NvmlGpu
  readonly dryRun: boolean
  readonly serviceSocket: string | undefined
  readonly onMessage: (message: string) => void
}

/** An SM clock that is locked through the node service. */
export class HeldClock {
  /** The locked clock, MHz, or, in a dry run, the clock that would be locked. */
  smClockMhz: number | null = null
  readonly #options: HeldClockOptions
  #lease: ServiceLease | null = null
  #saidMs = Number.NEGATIVE_INFINITY
  #triedMs = Number.NEGATIVE_INFINITY

  constructor(options: HeldClockOptions) {
    this.#options = options
  }

  /** @param smClockMhz null restores the operator's clock settings */
  async set(smClockMhz: number | null, timeMs: number): Promise<void> {
    try {
      if (!this.#options.dryRun) await this.#lock(smClockMhz, timeMs)
      else this.smClockMhz = smClockMhz
    } catch (error) {
      if (!(error instanceof PctodlError)) throw error
      this.#options.onMessage(`the board cannot be governed now: ${error.message}`)
      await this.release()
    }
  }

  async release(): Promise<void> {
    const lease = this.#lease
    this.#lease = null
    this.smClockMhz = null
    // If the node service cannot restore the board now, it keeps trying.
    await lease?.release().catch(() => {})
  }

  async #lock(smClockMhz: number | null, timeMs: number): Promise<void> {
    const lease = this.#lease?.isHeld ? this.#lease : await this.#acquire(timeMs)
    if (lease === null || (smClockMhz === this.smClockMhz && timeMs - this.#saidMs < HEARTBEAT_MS)) return
    if (smClockMhz === this.smClockMhz) await lease.verify()
    else if (smClockMhz === null) await lease.resetSmClock()
    else await lease.lockSmClock(smClockMhz)
    this.smClockMhz = smClockMhz
    this.#saidMs = timeMs
  }

  async #acquire(timeMs: number): Promise<ServiceLease | null> {
    this.smClockMhz = null
    if (timeMs - this.#triedMs < RETRY_MS) return null
    this.#triedMs = timeMs
    const { gpu, serviceSocket } = this.#options
    const { uuid, subject } = gpu.device
    const socket = serviceSocket === undefined ? {} : { socket: serviceSocket }
    const options = { ...socket, silenceMs: SILENCE_MS, timeoutMs: 2000 }
    this.#lease = await ServiceLease.acquire({ uuid, subject, spec: gpu.spec }, options)
    this.#saidMs = timeMs
    return this.#lease
  }
}
