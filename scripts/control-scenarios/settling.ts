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
export function watchSettling(
  spec: GpuSpec,
  faults: readonly Fault[],
  trueEnergyJ: () => number,
): { add(event: RunEvent): void; longestMs(): number } {
  const pauses = faults.flatMap((fault) =>
    fault.kind === 'client-hung'
      ? [{ fromMs: fault.atMs, toMs: fault.atMs + (fault.durationMs ?? Number.POSITIVE_INFINITY) }]
      : [],
  )
  const points: { readonly timeMs: number; readonly energyJ: number }[] = []
  let lastCapW = 0
  let sinceMs: number | null = null
  let lastMs = 0
  let hotMs = Number.NEGATIVE_INFINITY
  let longestMs = 0
  const end = () => {
    if (sinceMs !== null) longestMs = Math.max(longestMs, lastMs - sinceMs)
    sinceMs = null
  }
  return {
    add(event) {
      if (event.type !== 'sample') return
      const { timeMs, telemetry, powerCapW, reconfiguring, activeShare, failures, smClockRefusedMs, inForce } = event
      points.push({ timeMs, energyJ: trueEnergyJ() })
      while (points[1] && points[1].timeMs <= timeMs - WINDOW_MS) points.shift()
      const spanMs = timeMs - points[0]!.timeMs
      const paused = pauses.some(({ fromMs, toMs }) => timeMs >= fromMs && timeMs <= toMs)
      const free = paused || reconfiguring || activeShare !== 1 || failures.length > 0 || smClockRefusedMs > 0
      const { smClockMhz, memClockMhz, powerLimitW } = inForce
      const clocksMhz = smClocksAt(spec, memClockMhz ?? spec.performanceMemClocksMhz[0]!)!
      const highest =
        powerLimitW >= BELOW * powerCapW &&
        (smClockMhz === null || smClockMhz >= Math.min(spec.boostClockMhz, clocksMhz.at(-1)!))
      if (telemetry.clocksEventReasons.some((reason) => reason.includes('thermal'))) hotMs = timeMs
      if (free || highest || timeMs - hotMs < WINDOW_MS || spanMs < WINDOW_MS) end()
      else {
        const meanW = (1000 * (points.at(-1)!.energyJ - points[0]!.energyJ)) / spanMs
        const reached = powerCapW === lastCapW ? powerCapW : Math.min(powerCapW, lastCapW)
        if (meanW >= BELOW * reached) end()
        if (meanW < BELOW * powerCapW) sinceMs ??= timeMs
      }
      lastCapW = powerCapW
      lastMs = timeMs
    },
    /** Also counts the time below the cap that has not ended yet. */
    longestMs() {
      end()
      return longestMs
    },
  }
}
