import { aggregateByAlgorithm, baselineOf } from '../verdict/algorithm-aggregate.js'
import { combineRepeatedRuns } from '../verdict/combine-runs.js'
import { groupBy } from '../verdict/group-by.js'
import { type RunSummary, taskKey } from '../verdict/run-summary.js'
import { standings } from '../verdict/standings.js'
import type { TableStyle } from './report-table.js'
import { formatAggregateTable, formatStandings, formatTaskTable } from './summary-table.js'

/** Above this number of tasks, one table summarises them. */
export const MAX_TASK_TABLES = 4

/** The tables of a matrix of runs: the standings, then each task or, of many tasks, each board. */
export function formatRuns(runs: readonly RunSummary[], style: TableStyle): string {
  const summaries = combineRepeatedRuns(runs)
  const ofTasks = groupBy(summaries, taskKey)
  // For a single task on one board, the task's own table already says this.
  const headline = ofTasks.size > 1 || summaries.length < runs.length ? standings(runs) : undefined
  const parts = headline ? [formatStandings(headline, style)] : []
  if (ofTasks.size <= MAX_TASK_TABLES) for (const ofTask of ofTasks.values()) parts.push(formatTaskTable(ofTask, style))
  else {
    const groupOf = ({ board, requests }: RunSummary) => (requests ? `${board}, services` : board)
    for (const [group, ofGroup] of groupBy(summaries, groupOf)) {
      const baseline = baselineOf(ofGroup)
      parts.push(`${group}\n${formatAggregateTable(aggregateByAlgorithm(ofGroup, baseline), baseline, style)}`)
    }
  }
  return parts.join('\n\n')
}
