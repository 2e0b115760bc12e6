import { type PowerMetrics, powerMetrics } from './power-metrics.js'
import type { PowerSeries, PowerSource } from './power-signal.js'
import { masked } from './steady-mask.js'

/** Length of start-up after the start and after each reconfiguration, ms. */
export const START_UP_MS = 10_000

/** A run with more than this share of its time in start-up has no steady state and is judged as a whole. */
const MAX_START_UP_SHARE = 0.5

/** Power figures that a verdict needs. */
export type CapFigures = Pick<PowerMetrics, 'violationFraction' | 'longestExcessMs' | 'coveragePercent'>

export interface CapPhases {
  /** Null if the run is judged as a whole. */
  readonly startUp: CapFigures | null
  readonly steady: CapFigures
}

/**
 * Split a run into start-up and steady state, so that the length of a run does not decide the weight of its start.
 *
 * @param restartsMs when reconfigurations began; the start of the run counts always
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
