import { Progress, type TextOutput } from '@pctodl/command-line'
import { groupBy } from '@pctodl/platform'
import type { ProfileRow } from './measure/profile-row.js'
import { expectedDuration, type PlannedDuration } from './plan/expected-duration.js'
import type { PlannedRow, ProfilePlan } from './plan/profile-plan.js'
import type { RunPlanOptions } from './run-plan.js'

/** Describes a row in one line, e.g. `resnet50 4 x 25 % at batch 16, 1005/1215 MHz`. */
export function describeRow({ tenants, smClockMhz, memClockMhz }: PlannedRow): string {
  const clocks = `${smClockMhz ?? 'auto'}/${memClockMhz ?? 'auto'} MHz`
  if (tenants.length === 0) return `no work, ${clocks}`
  const kinds = groupBy(tenants, (tenant) => `${tenant.mpsPercent} % ${tenant.model} at batch ${tenant.batchSize}`)
  return `${[...kinds].map(([kind, of]) => `${of.length} x ${kind}`).join(', ')}, ${clocks}`
}

export function describePlan(plan: ProfilePlan): string {
  const sweeps = groupBy(plan.rows, ({ sweep }) => sweep)
  const parts = [...sweeps].map(([sweep, of]) => `${of.length} ${sweep}`).join(', ')
  return `${plan.rows.length} rows (${parts})\n${describeDuration(expectedDuration(plan))}`
}

export function describeDuration({ restarts, expectedMs }: PlannedDuration): string {
  return `expected on the board: ${duration(expectedMs)}, ${restarts} restarts of processes`
}

/** Formats a duration, e.g. `1 h 12 min`, `3 min 20 s`, `45 s`. */
export function duration(ms: number): string {
  const s = Math.round(ms / 1000)
  if (s >= 3600) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`
  return s >= 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s} s`
}

/** Prints the progress of a run and estimates the remaining time from the rows so far. */
export function showProgress(
  output: TextOutput,
  plan: ProfilePlan,
  left: number,
): Required<Pick<RunPlanOptions, 'onBegin' | 'onRow'>> {
  const progress = new Progress(output, left)
  const startedMs = performance.now()
  let done = 0
  const timeLeft = () => {
    if (done < 5 || done === left) return ''
    return ` (${duration(((performance.now() - startedMs) / done) * (left - done))} left)`
  }
  return {
    onBegin: (planned) => progress.begin(`${describeRow(planned)}${timeLeft()}`),
    onRow: (row) => {
      done++
      progress.end(describeRow(plan.rows[row.row]!), `${outcome(row)}${timeLeft()}`)
    },
  }
}

function outcome(row: ProfileRow): string {
  if (row.failed) return `${row.status}: ${row.message}`
  const doubt = row.status === 'ok' ? '' : ` [${row.status}]`
  const power = `${row.powerAverageW.toFixed(1)} W`
  return row.tenants.length === 0 ? `${power}${doubt}` : `${row.throughput.toFixed(1)} samples/s, ${power}${doubt}`
}
