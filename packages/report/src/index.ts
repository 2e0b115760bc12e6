export type {
  JudgedEvent,
  JudgedSample,
  JudgedTenant,
  JudgedWindow,
  RunEnd,
  RunStart,
  UnreadEvent,
} from './record/judged-event.js'
export { parseEventLines, parseRunEvents } from './record/run-events.js'
export { recordOfEvents, type RunLabels } from './record/record-of-events.js'
export { BatchLatencies } from './record/batch-latencies.js'
export type {
  NetworkLatency,
  PowerSeries,
  RecordedWindow,
  RunRecord,
  ServedRequests,
  ServiceOutcome,
} from './record/run-record.js'
export { formatRunRecord, parseRunRecord } from './record/run-record-json.js'
export { STEADY_TOLERANCE } from './evaluate/index.js'
export { type Verdict, verdict } from './verdict/verdict.js'
export {
  firstSteadyWindow,
  merit,
  type RunSummary,
  savesEnergy,
  steadyThroughput,
  summarizeRun,
  taskKey,
} from './verdict/run-summary.js'
export { combineRepeatedRuns, combineRuns } from './verdict/combine-runs.js'
export { bestHoldingRun, rankRuns } from './verdict/ranking.js'
export { MIN_INTERVAL_BOARDS, type Spread, spreadOf, spreadText } from './verdict/spread.js'
export {
  type BoardStanding,
  EQUAL_P99_IDS,
  EQUAL_P99_SET,
  type Outcome,
  type Ratio,
  type Standings,
  standings,
  type Tally,
  type TaskStanding,
  TIE_TOLERANCE,
} from './verdict/standings.js'
export { type AlgorithmAggregate, aggregateByAlgorithm, baselineOf } from './verdict/algorithm-aggregate.js'
export {
  formatAggregateTable,
  formatStandings,
  formatTaskTable,
  type TableStyle,
  tableStyle,
} from './table/summary-table.js'
export { headlineCaption, headlineTable, standingsCaption, standingsTable } from './table/standings-table.js'
export { tableAsMarkdown } from './page/report-tables.js'
export { formatResultsCsv, resultsColumns } from './table/results-csv.js'
export { formatDifferences } from './table/comparison-table.js'
export {
  type ComparedRun,
  comparedRun,
  compareRuns,
  type Comparison,
  type RunDifference,
} from './compare/compare-runs.js'
export { readResultFolder } from './compare/read-result-folder.js'
export { welchTest } from '@pctodl/numerics'
export { comparisonChart } from './chart/comparison-chart.js'
export { matrixAlgorithms, notCompeting } from './chart/matrix-algorithms.js'
export { matrixChart } from './chart/matrix-chart.js'
export { writeChart } from './chart/write-chart.js'
export { type CostFactors, type ImageCost, usualCostFactors } from './page/cost.js'
export {
  type BoardContent,
  chartOf,
  type FailedRun,
  type Oracle,
  type ReportContent,
  reportContent,
  type ReportedRun,
  type ReportedTask,
  type ReportInput,
  type TaskContent,
  type TaskRow,
} from './page/report-content.js'
export { type RunLog, runsOfLogs } from './page/runs-of-logs.js'
export { htmlReport } from './page/html-report.js'
export { markdownReport } from './page/markdown-report.js'
export { writeReport, type WriteReportOptions } from './page/write-report.js'
export { writePaper } from './paper/write-paper.js'
export { addReportOptions, costFactorsOf, type RawReportOptions, writtenFiles } from './report-options.js'
export { pctodlReport } from './report-logs.js'
