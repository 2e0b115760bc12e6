import type { RunRecord } from '../record/run-record.js'
import type { RunSummary } from '../verdict/run-summary.js'

/** A run with what a chart shows of it. */
export interface ChartedRun {
  readonly run: RunRecord
  readonly summary: RunSummary
  readonly color: string
}
