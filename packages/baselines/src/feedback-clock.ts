import type { GpuSpec, Service } from '@pctodl/platform'
import type { ClockPlan, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { indexAtMost, workingSmClocks } from './clock-table.js'

/** Time between two steps, ms. After it, a one-second average of power contains only the newest clock. */
const STEP_MS = 2000

/**
 * One step of feedback. If power is above the cap, the clock falls in proportion to the excess, by at least one state.
 * Otherwise it rises by one state, unless power, taken to grow with the square of the clock, would then exceed the cap.
 * @param clocksMhz ascending
 * @returns the clock to lock, MHz
 */
export function feedbackStep(
  clocksMhz: readonly number[],
  smClockMhz: number,
  powerW: number,
  powerCapW: number,
): number {
  const index = indexAtMost(clocksMhz, smClockMhz)
  if (powerW > powerCapW) {
    return clocksMhz[Math.max(0, Math.min(index - 1, indexAtMost(clocksMhz, (smClockMhz * powerCapW) / powerW)))]!
  }
  const above = clocksMhz[index + 1]
  return above !== undefined && powerW * (above / smClockMhz) ** 2 <= powerCapW ? above : smClockMhz
}

export interface FeedbackClockOptions {
  /**
   * Whether to step the clock if the cap is below the board's lowest limit. Default false: the planned clock stays.
   */
  readonly step?: boolean
  /**
   * Clock to lock while the board's limit keeps the cap: a clock (MHz), the planned clock, or no lock. Default
   * `unlocked`.
   */
  readonly underLimit?: number | 'planned' | 'unlocked'
}

/**
 * Chooses the SM clock for a policy that sets the board's limit at the cap. At full clock, a board needs about a second
 * to settle at its limit. So each cap begins at the planned clock, and the limit takes over after the first window.
 */
export class FeedbackClock {
  readonly #options: FeedbackClockOptions
  protected clocksMhz: readonly number[] = []
  #plannedMhz = 0
  #clockMhz = 0
  #limitHolds = false
  #starting = true
  #nextMs: number | undefined

  constructor(options: FeedbackClockOptions = {}) {
    this.#options = options
  }

  /**
   * Begins a cap with the clocks that were planned for it.
   *
   * @returns the SM clock to lock, MHz
   */
  begin(spec: GpuSpec, { memClockMhz, smClockMhz }: ClockPlan, powerCapW: number, _newTenants: boolean): number {
    this.clocksMhz = workingSmClocks(spec, memClockMhz)
    this.#clockMhz = this.#plannedMhz = smClockMhz
    this.#limitHolds = powerCapW >= spec.powerLimitW.min
    this.#starting = true
    this.#nextMs = undefined
    return smClockMhz
  }

  /**
   * Steps the clock by feedback, if the board's limit does not keep the cap.
   *
   * @returns the clock to lock, MHz; undefined for no change
   */
  onSample(sample: SampleObservation, _services: readonly Service[]): number | undefined {
    const { timeMs, reconfiguring, powerCapW, telemetry } = sample
    if (this.#limitHolds || this.#options.step !== true) return undefined
    if (reconfiguring || telemetry.powerAverageW === null) this.#nextMs = undefined
    this.#nextMs ??= timeMs + STEP_MS
    if (timeMs < this.#nextMs || telemetry.powerAverageW === null) return undefined
    this.#nextMs = timeMs + STEP_MS
    const wanted = feedbackStep(this.clocksMhz, this.#clockMhz, telemetry.powerAverageW, powerCapW)
    // A low request rate may rise within a second, so the power of a higher clock is known only if the tenants are
    // saturated. Otherwise the clock does not exceed the planned one.
    const nextMhz = sample.services === undefined ? wanted : Math.min(wanted, this.#plannedMhz)
    if (nextMhz === this.#clockMhz) return undefined
    this.#clockMhz = nextMhz
    return nextMhz
  }

  onWindow(window: WindowObservation, _services: readonly Service[]): number | 'unlocked' | undefined {
    if (!this.#starting || !this.#limitHolds || window.reconfigured || window.samples === 0) return undefined
    this.#starting = false
    const { underLimit = 'unlocked' } = this.#options
    return underLimit === 'planned' ? undefined : underLimit
  }

  /**
   * Highest clock that the policy may use, MHz: the top of the table if the board's limit keeps the cap, otherwise the
   * clock that the cap allows.
   */
  protected get ceilingMhz(): number {
    return this.#limitHolds ? this.clocksMhz.at(-1)! : this.#clockMhz
  }
}
