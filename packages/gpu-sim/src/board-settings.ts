import type { ClockRange } from './firmware-governor.js'

interface Request {
  readonly atMs: number
  readonly apply: () => void
}

/** The settings that a lease can change, as they were before the lease. */
export interface SettingsSnapshot {
  readonly smRange: ClockRange | null
  readonly memLockMhz: number | null
  readonly powerLimitW: number
}

/** Requested settings of a board. Clock requests take effect after a delay. */
export class BoardSettings {
  /** Locked range of the SM clock; null if the firmware chooses. */
  smRange: ClockRange | null = null
  memLockMhz: number | null = null
  powerLimitW: number
  readonly #onSmRange: (range: ClockRange | null) => void
  #requests: Request[] = []

  constructor(powerLimitW: number, onSmRange: (range: ClockRange | null) => void) {
    this.powerLimitW = powerLimitW
    this.#onSmRange = onSmRange
  }

  lockSm(range: ClockRange | null): void {
    this.smRange = range
    this.#onSmRange(range)
  }

  later(atMs: number, apply: () => void): void {
    this.#requests.push({ atMs, apply })
  }

  applyDue(nowMs: number): void {
    while (this.#requests.length > 0 && this.#requests[0]!.atMs <= nowMs) this.#requests.shift()!.apply()
  }

  snapshot(): SettingsSnapshot {
    return { smRange: this.smRange, memLockMhz: this.memLockMhz, powerLimitW: this.powerLimitW }
  }

  restore({ smRange, memLockMhz, powerLimitW }: SettingsSnapshot): void {
    this.#requests = []
    this.lockSm(smRange)
    this.memLockMhz = memLockMhz
    this.powerLimitW = powerLimitW
  }
}
