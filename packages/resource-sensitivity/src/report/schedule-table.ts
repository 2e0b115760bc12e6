import { formatTable } from './format-table.js'
import type { ScheduleSummary } from './summarize.js'

/**
 * One line per schedule. With `baseline`, the gain is the baseline's mean completion time over the line's, for the same
 * policy.
 */
export function formatScheduleTable(rows: readonly ScheduleSummary[], baseline?: string): string {
  const columns = [
    ['policy', (row: ScheduleSummary) => row.policy],
    ['mechanism', (row: ScheduleSummary) => row.mechanism],
    ['jobs', (row: ScheduleSummary) => String(row.jobs)],
    ['mean', (row: ScheduleSummary) => hours(row.meanCompletionS)],
    ['median', (row: ScheduleSummary) => hours(row.medianCompletionS)],
    ['p99', (row: ScheduleSummary) => hours(row.p99CompletionS)],
    ...(baseline === undefined ? [] : [['gain', (row: ScheduleSummary) => gain(rows, row, baseline)] as const]),
    ['makespan', (row: ScheduleSummary) => hours(row.makespanS)],
    ['queueing', (row: ScheduleSummary) => hours(row.meanQueueingS)],
    ['GPU', (row: ScheduleSummary) => percent(row.gpuPercent)],
    ['CPU', (row: ScheduleSummary) => percent(row.cpuPercent)],
    ['memory', (row: ScheduleSummary) => percent(row.memoryPercent)],
    ['rho', (row: ScheduleSummary) => row.meanRho.toFixed(2)],
    ['fairness', (row: ScheduleSummary) => row.fairnessIndex.toFixed(2)],
    ['restarts', (row: ScheduleSummary) => row.restarts.toFixed(0)],
  ] as const
  const head = columns.map(([name]) => name)
  const lines = rows.map((row) => columns.map(([, cell]) => cell(row)))
  return formatTable(head, lines, 2)
}

function hours(seconds: number): string {
  return `${(seconds / 3600).toFixed(2)} h`
}

function percent(value: number): string {
  return `${value.toFixed(1)} %`
}

function gain(rows: readonly ScheduleSummary[], row: ScheduleSummary, baseline: string): string {
  const base = rows.find(({ policy, mechanism }) => policy === row.policy && mechanism === baseline)
  return base === undefined ? '-' : `${(base.meanCompletionS / row.meanCompletionS).toFixed(3)}x`
}
