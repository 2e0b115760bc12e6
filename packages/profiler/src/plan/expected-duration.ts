import { processesOf } from './make-plan.js'
import type { ProfilePlan } from './profile-plan.js'

/** Assumed time to stop the processes of a row and start those of the next, ms. */
const RESTART_MS = 4000
/** Assumed settling time beyond `settleMinMs`, ms. */
const EXTRA_SETTLE_MS = 1000

export interface PlannedDuration {
  readonly rows: number
  /** Number of rows that need other processes than the row before. */
  readonly restarts: number
  readonly expectedMs: number
}

export function expectedDuration({ rows, measure }: ProfilePlan): PlannedDuration {
  const isRestart = (i: number) => i === 0 || processesOf(rows[i]!) !== processesOf(rows[i - 1]!)
  const restarts = rows.filter(({ tenants }, i) => tenants.length > 0 && isRestart(i)).length
  const rowMs = Math.max(measure.settleMinMs, measure.settleWindowMs) + EXTRA_SETTLE_MS + measure.windowMinMs
  return { rows: rows.length, restarts, expectedMs: restarts * RESTART_MS + rows.length * rowMs }
}
