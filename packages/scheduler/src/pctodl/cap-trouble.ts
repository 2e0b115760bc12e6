import type { ClockAction } from '@pctodl/thermo-dvfs'

/** The lowest clocks of SM and memory are estimated to draw too much for so long: tenants must change, ms. */
const INFEASIBLE_MS = 3000
/** The same where readings of these very clocks are above the cap, ms. */
const EXCESS_MS = 300
/** Firmware that throttles for so long does not stop by itself, ms. */
const THROTTLED_MS = 5000
/** What was done about it gets so long to show, where no tenants are started for it, ms. */
const SHOWS_MS = 10_000

export type Trouble = 'infeasible' | 'throttled'

/** Watches for what the clock cannot mend: the lowest one does not keep the cap, or the firmware holds the board far below. */
export class CapTrouble {
  #kind: Trouble | undefined
  #sinceMs = 0
  #quietUntilMs = 0

  /**
   * @param memoryIsLowest the memory clock cannot go down any more
   * @returns the trouble, once each time that it has lasted
   */
  step(
    timeMs: number,
    { status, seen }: ClockAction,
    reconfiguring: boolean,
    memoryIsLowest: boolean,
  ): Trouble | undefined {
    const helpless = status === 'infeasible' && memoryIsLowest
    const kind = helpless ? 'infeasible' : seen.clock === 'throttled' ? 'throttled' : undefined
    if (kind !== this.#kind || reconfiguring) {
      this.#kind = kind
      this.#sinceMs = timeMs
    }
    // Other tenants show what they draw as soon as they run.
    if (reconfiguring) this.#quietUntilMs = timeMs
    if (kind === undefined || timeMs < this.#quietUntilMs) return undefined
    if (timeMs - this.#sinceMs < (kind === 'throttled' ? THROTTLED_MS : seen.excess ? EXCESS_MS : INFEASIBLE_MS))
      return undefined
    this.#quietUntilMs = timeMs + SHOWS_MS
    return kind
  }
}
