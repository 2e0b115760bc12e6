import { type PowerMetrics, powerMetrics, powerSignal, settlingTimes } from '../src/evaluate/index.js'
import type { PowerSeries } from '../src/evaluate/power-signal.js'
import type { SettlingTime } from '../src/evaluate/settling-time.js'

export interface Step {
  readonly ms: number
  /** Null where it could not be read. */
  readonly watts: number | null
  readonly capW: number
}

/** Power as the sensor of a run says it, constant in each step. */
function series(steps: readonly Step[]): PowerSeries {
  let now = 0
  return {
    timeMs: steps.map((step) => {
      now += step.ms
      return now
    }),
    powerCapW: steps.map((step) => step.capW),
    sensorW: steps.map((step) => step.watts),
  }
}

export function metricsOf(...steps: readonly Step[]): PowerMetrics {
  return powerMetrics(series(steps), 'sensor')
}

export function settlingOf(...steps: readonly Step[]): SettlingTime[] {
  return settlingTimes(powerSignal(series(steps), 'sensor'))
}
