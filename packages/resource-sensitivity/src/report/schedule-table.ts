import Table from 'cli-table3'
import type { ScheduleSummary } from './summarize.js'

type Row = Partial<ScheduleSummary> & Pick<ScheduleSummary, 'policy' | 'mechanism' | 'jobs' | 'meanCompletionS'>

/** One line a schedule. With `baseline`, the gain is the baseline's mean completion time of the same policy over the line's. */
export function formatScheduleTable(rows: readonly Row[], baseline?: string): string {
  const columns = [
    ['policy', (row: Row) => row.policy],
    ['mechanism', (row: Row) => row.mechanism],
    ['jobs', (row: Row) => String(row.jobs)],
    ['mean', (row: Row) => hours(row.meanCompletionS)],
    ['median', (row: Row) => hours(row.medianCompletionS)],
    ['p99', (row: Row) => hours(row.p99CompletionS)],
    ...(baseline === undefined ? [] : [['gain', (row: Row) => gain(rows, row, baseline)] as const]),
    ['makespan', (row: Row) => hours(row.makespanS)],
    ['queueing', (row: Row) => hours(row.meanQueueingS)],
    ['GPU', (row: Row) => percent(row.gpuPercent)],
    ['CPU', (row: Row) => percent(row.cpuPercent)],
    ['memory', (row: Row) => percent(row.memoryPercent)],
    ['rho', (row: Row) => row.meanRho?.toFixed(2) ?? '-'],
    ['fairness', (row: Row) => row.fairnessIndex?.toFixed(2) ?? '-'],
    ['restarts', (row: Row) => row.restarts?.toFixed(0) ?? '-'],
  ] as const
  const table = new Table({
    head: columns.map(([name]) => name),
    colAligns: columns.map((_, i) => (i < 2 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
  })
  for (const row of rows) table.push(columns.map(([, cell]) => cell(row)))
  return table.toString()
}

function hours(seconds: number | undefined): string {
  return seconds === undefined ? '-' : `${(seconds / 3600).toFixed(2)} h`
}

function percent(value: number | undefined): string {
  return value === undefined ? '-' : `${value.toFixed(1)} %`
}

function gain(rows: readonly Row[], row: Row, baseline: string): string {
  const base = rows.find(({ policy, mechanism }) => policy === row.policy && mechanism === baseline)
  return base === undefined ? '-' : `${(base.meanCompletionS / row.meanCompletionS).toFixed(3)}x`
}
