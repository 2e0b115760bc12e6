import { type NvmlGpu, ServiceLease } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'

/** If the holder is silent for this time, ms, the node service ends the lease. The clocks are then back within 5 s. */
const SILENCE_MS = 4000
const HEARTBEAT_MS = 1000
const RETRY_MS = 5000

/** An SM clock that is locked through the node service. */
export class HeldClock {
  /** The locked clock, MHz; null if the operator's clock settings are in force. */
  smClockMhz: number | null = null
  readonly #gpu: NvmlGpu
  readonly #onMessage: (message: string) => void
  #lease: ServiceLease | null = null
  #saidMs = Number.NEGATIVE_INFINITY
  #triedMs = Number.NEGATIVE_INFINITY

  constructor(gpu: NvmlGpu, onMessage: (message: string) => void) {
    this.#gpu = gpu
    this.#onMessage = onMessage
  }

  /** @param smClockMhz null restores the operator's clock settings */
  async set(smClockMhz: number | null, timeMs: number): Promise<void> {
    try {
      if (!this.#lease?.isHeld && !(await this.#acquire(timeMs))) return
      const isSame = smClockMhz === this.smClockMhz
      if (isSame && timeMs - this.#saidMs < HEARTBEAT_MS) return
      if (isSame) await this.#lease!.verify()
      else if (smClockMhz === null) await this.#lease!.resetSmClock()
      else await this.#lease!.lockSmClock(smClockMhz)
      this.smClockMhz = smClockMhz
      this.#saidMs = timeMs
    } catch (error) {
      if (!(error instanceof PctodlError)) throw error
      this.#onMessage(`the board cannot be governed now: ${error.message}`)
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

  /** @returns whether a lease is held; false if the last attempt was less than `RETRY_MS` ago */
  async #acquire(timeMs: number): Promise<boolean> {
    this.smClockMhz = null
    if (timeMs - this.#triedMs < RETRY_MS) return false
    this.#triedMs = timeMs
    const { device, spec } = this.#gpu
    const { uuid, subject } = device
    this.#lease = await ServiceLease.acquire({ uuid, subject, spec }, { silenceMs: SILENCE_MS, timeoutMs: 2000 })
    this.#saidMs = timeMs
    return true
  }
}
