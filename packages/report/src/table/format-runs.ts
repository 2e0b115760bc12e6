import { groupBy } from '@pctodl/platform'
import { aggregateByAlgorithm, baselineOf } from '../verdict/algorithm-aggregate.js'
import { combineRepeatedRuns } from '../verdict/combine-runs.js'
import { assertOneTask, rankRuns } from '../verdict/ranking.js'
import { type RunSummary, taskKey } from '../verdict/run-summary.js'
import { standings } from '../verdict/standings.js'
import { algorithmCaption, algorithmTable } from './algorithm-table.js'
import { printable, type ReportTable, textTable, withoutEmptyColumns } from './report-table.js'
import { headlineTable, standingsCaption, standingsHeading, standingsTable } from './standings-table.js'
import { explanation, taskHeading, taskTable } from './task-table.js'

/** Above this number of tasks, one table summarises them. */
const MAX_TASK_TABLES = 4

/**
 * Formats the runs of a benchmark for a terminal: the comparison with the best other algorithm of each task, then each
 * task or, if there are many, the algorithms of each board.
 */
export function formatRuns(runs: readonly RunSummary[]): string {
  if (runs.length === 0) return ''
  const summaries = combineRepeatedRuns(runs)
  const tasks = [...groupBy(summaries, taskKey).values()]
  // For a single task on one board, the task's own table already shows the comparison.
  const found = tasks.length > 1 || summaries.length < runs.length ? standings(runs) : undefined
  const parts = found
    ? [standingsHeading, shown(standingsTable(found)), shown(headlineTable(found)), standingsCaption(found), '']
    : []
  if (tasks.length <= MAX_TASK_TABLES) {
    return [
      ...parts,
      ...tasks.map((ofTask) => `${formatTask(ofTask)}\n`),
      ...explanation(summaries).map(printable),
    ].join('\n')
  }
  const boards = groupBy(summaries, ({ board, requests }) => (requests ? `${board}, services` : board))
  for (const [board, ofBoard] of boards) {
    const baseline = baselineOf(ofBoard)
    const algorithms = aggregateByAlgorithm(ofBoard, baseline)
    const caption = algorithmCaption(baseline)
    parts.push(printable(board), textTable(algorithmTable(algorithms, baseline)), printable(caption), '')
  }
  return parts.slice(0, -1).join('\n')
}

const shown = (table: ReportTable) => textTable(withoutEmptyColumns(table))

/** The table of one task, the best run that holds the cap first, then reasons of verdicts and remarks. */
function formatTask(runs: readonly RunSummary[]): string {
  assertOneTask('summaries', runs)
  const ranked = rankRuns(runs)
  const { capW } = ranked[0]!
  const remarks = ranked.flatMap(({ algorithm, verdict, startUp, notes }) => [
    ...(verdict.status === 'holds' ? [] : [`${algorithm}: ${verdict.reason}`]),
    ...(startUp?.status === 'violates' ? [`${algorithm}, start-up: ${startUp.reason}`] : []),
    ...notes.map((note) => `${algorithm}: ${note}`),
  ])
  return [
    printable(taskHeading(ranked[0]!, capW === 'dynamic' ? 'changing cap' : `${capW} W`)),
    shown(taskTable(ranked)),
    ...remarks.map(printable),
  ].join('\n')
}
