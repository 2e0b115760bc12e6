import { upperMedian } from '@pctodl/numerics'
import type { ProfileRow } from '../measure/profile-row.js'
import { rowStatuses } from '../measure/row-status.js'
import { duration } from './describe.js'

export interface RunFacts {
  /** Time that this call took on the board's clock (virtual on a simulated board) and on the wall clock, ms. */
  readonly boardMs: number
  readonly wallMs: number
  readonly files: readonly string[]
}

export interface ProfileReport {
  readonly rows: number
  readonly byStatus: Readonly<Record<string, number>>
  readonly boardSeconds: number
  readonly wallSeconds: number
  readonly medianSettleSeconds: number
  readonly medianWindowSeconds: number
  readonly files: readonly string[]
  /** The same for people. */
  readonly text: string
}

export function reportOf(rows: readonly ProfileRow[], facts: RunFacts): ProfileReport {
  const byStatus: Record<string, number> = {}
  for (const status of rowStatuses) {
    const count = rows.filter((row) => row.status === status).length
    if (count > 0) byStatus[status] = count
  }
  const measured = rows.filter((row) => !row.failed)
  const settleMs = upperMedian(measured.map((row) => row.settleMs))
  const windowMs = upperMedian(measured.map((row) => row.windowMs))
  const statuses = Object.entries(byStatus).map(([status, count]) => `${count} ${status}`)
  const text = [
    `${rows.length} rows: ${statuses.join(', ')}`,
    `${duration(facts.boardMs)} on the board, ${duration(facts.wallMs)} here`,
    `settling ${(settleMs / 1000).toFixed(1)} s, window ${(windowMs / 1000).toFixed(1)} s (medians)`,
    'Written:',
    ...facts.files.map((file) => `  ${file}`),
    '',
  ].join('\n')
  return {
    rows: rows.length,
    byStatus,
    boardSeconds: facts.boardMs / 1000,
    wallSeconds: facts.wallMs / 1000,
    medianSettleSeconds: settleMs / 1000,
    medianWindowSeconds: windowMs / 1000,
    files: facts.files,
    text,
  }
}
