import { type PowerMetrics, powerMetrics } from './power-metrics.js'
import type { PowerSeries, PowerSource } from './power-signal.js'
import { masked } from './steady-mask.js'

/** Length of each start-up phase, ms. A phase begins at the start of the run and at each reconfiguration. */
const START_UP_MS = 10_000

/** If start-up phases take more than this fraction of a run, the run is judged as a whole. */
const MAX_START_UP_SHARE = 0.5

/** Power figures on which a verdict is based. */
export type CapFigures = Pick<PowerMetrics, 'violationFraction' | 'longestExcessMs' | 'coveragePercent'>

export interface CapPhases {
  /** Power figures of the start-up phases; null if the run is judged as a whole. */
  readonly startUp: CapFigures | null
  readonly steady: CapFigures
}

/**
 * Splits a run into start-up phases and steady state, which are judged separately. Otherwise the start would weigh more
 * in a shorter run.
 *
 * @param restartsMs times at which reconfigurations began, ms; the start of the run is always added
 * @throws InvalidInputError for a malformed series
 */
export function capPhases(series: PowerSeries, source: PowerSource, restartsMs: readonly number[] = []): CapPhases {
  const begins = [0, ...restartsMs]
  const inStartUp = series.timeMs.map((timeMs) => begins.some((at) => timeMs > at && timeMs <= at + START_UP_MS))
  const whole = powerMetrics(series, source)
  const spanMs = (i: number) => series.timeMs[i]! - (series.timeMs[i - 1] ?? 0)
  const startUpMs = inStartUp.reduce((sum, inside, i) => (inside ? sum + spanMs(i) : sum), 0)
  if (startUpMs > MAX_START_UP_SHARE * whole.durationMs) return { startUp: null, steady: whole }
  const of = (phase: boolean): CapFigures => ({
    ...powerMetrics(
      masked(
        series,
        source,
        Uint8Array.from(inStartUp, (inside) => Number(inside === phase)),
      ),
      'sensor',
    ),
    coveragePercent: whole.coveragePercent,
  })
  return { startUp: of(true), steady: of(false) }
}
