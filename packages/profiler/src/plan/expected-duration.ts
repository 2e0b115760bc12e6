import { processesOf } from './order-rows.js'
import type { PlannedRow, ProfilePlan } from './profile-plan.js'

/** Assumed time to stop the processes of a row and start those of the next, ms. */
const RESTART_MS = 4000
/** Assumed settling time beyond `settleMinMs`, ms. */
const EXTRA_SETTLE_MS = 1000

export interface PlannedDuration {
  readonly rows: number
  /** Number of rows before which processes must restart. */
  readonly restarts: number
  readonly expectedMs: number
}

/** Whether a row needs other processes than the row before it. */
export function needsRestart(row: PlannedRow, before: PlannedRow | undefined): boolean {
  return row.tenants.length > 0 && (before === undefined || processesOf(row) !== processesOf(before))
}

/** Expected duration of one row, ms. */
export function expectedRowMs(row: PlannedRow, before: PlannedRow | undefined, { measure }: ProfilePlan): number {
  const restartMs = needsRestart(row, before) ? RESTART_MS : 0
  return restartMs + Math.max(measure.settleMinMs, measure.settleWindowMs) + EXTRA_SETTLE_MS + measure.windowMinMs
}

export function expectedDuration(plan: ProfilePlan): PlannedDuration {
  let restarts = 0
  let expectedMs = 0
  plan.rows.forEach((row, i) => {
    if (needsRestart(row, plan.rows[i - 1])) restarts++
    expectedMs += expectedRowMs(row, plan.rows[i - 1], plan)
  })
  return { rows: plan.rows.length, restarts, expectedMs }
}
