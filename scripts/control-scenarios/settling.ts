import type { Fault } from '@pctodl/gpu-sim'
import { type GpuSpec, smClocksAt } from '@pctodl/platform'
import type { RunEvent } from '@pctodl/scheduler'

const BELOW = 0.95
const WINDOW_MS = 1000

/**
 * Measures how long power takes to reach the cap: the longest time for which the true one-second mean stays below 95 %
 * of the cap although all tenants work and the SM clock could be higher. A pause of the load, a refused request, a hot
 * board or the highest clock ends the time, unless the board's limit is still that of a lower cap. A change of the cap
 * also ends it once power had reached the lower of the two caps. So with frequent changes it is a lower bound.
 */
export class Settling {
  readonly #spec: GpuSpec
  readonly #pauses: readonly (readonly [fromMs: number, toMs: number])[]
  readonly #trueEnergyJ: () => number
  readonly #points: { readonly timeMs: number; readonly energyJ: number }[] = []
  #capW = 0
  #sinceMs: number | null = null
  #lastMs = 0
  #hotMs = Number.NEGATIVE_INFINITY
  longestMs = 0

  constructor(spec: GpuSpec, faults: readonly Fault[], trueEnergyJ: () => number) {
    this.#spec = spec
    this.#pauses = faults.flatMap((fault) =>
      fault.kind === 'client-hung' ? [[fault.atMs, fault.atMs + (fault.durationMs ?? Number.POSITIVE_INFINITY)]] : [],
    )
    this.#trueEnergyJ = trueEnergyJ
  }

  add(event: RunEvent): void {
    if (event.type !== 'sample') return
    const { timeMs, telemetry, powerCapW, reconfiguring, activeShare, failures, smClockRefusedMs, inForce } = event
    const points = this.#points
    points.push({ timeMs, energyJ: this.#trueEnergyJ() })
    while (points[1] && points[1].timeMs <= timeMs - WINDOW_MS) points.shift()
    const spanMs = timeMs - points[0]!.timeMs
    const pauses = this.#pauses.some(([fromMs, toMs]) => timeMs >= fromMs && timeMs <= toMs)
    const free = pauses || reconfiguring || activeShare !== 1 || failures.length > 0 || smClockRefusedMs > 0
    const { smClockMhz, memClockMhz, powerLimitW } = inForce
    const clocksMhz = smClocksAt(this.#spec, memClockMhz ?? this.#spec.performanceMemClocksMhz[0]!)!
    const highest =
      powerLimitW >= BELOW * powerCapW &&
      (smClockMhz === null || smClockMhz >= Math.min(this.#spec.boostClockMhz, clocksMhz.at(-1)!))
    const hot = telemetry.clocksEventReasons.some((reason) => reason.includes('thermal'))
    if (hot) this.#hotMs = timeMs
    if (free || highest || timeMs - this.#hotMs < WINDOW_MS || spanMs < WINDOW_MS) this.end()
    else {
      const meanW = (1000 * (points.at(-1)!.energyJ - points[0]!.energyJ)) / spanMs
      const reached = powerCapW === this.#capW ? powerCapW : Math.min(powerCapW, this.#capW)
      if (meanW >= BELOW * reached) this.end()
      if (meanW < BELOW * powerCapW) this.#sinceMs ??= timeMs
    }
    this.#capW = powerCapW
    this.#lastMs = timeMs
  }

  /** Counts the time below the cap that has not ended yet. */
  end(): void {
    if (this.#sinceMs !== null) this.longestMs = Math.max(this.longestMs, this.#lastMs - this.#sinceMs)
    this.#sinceMs = null
  }
}
