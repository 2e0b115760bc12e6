export { parseEventLines, parseRunEvents } from './record/run-events.js'
export { recordOfEvents, type RunLabels } from './record/record-of-events.js'
export { BatchLatencies } from './record/batch-latencies.js'
export type { RecordedWindow, RunRecord, ServedRequests } from './record/run-record.js'
export { formatRunRecord, parseRunRecord } from './record/run-record-json.js'
export { STEADY_TOLERANCE } from './evaluate/index.js'
export { type Verdict, verdict } from './verdict/verdict.js'
export {
  firstSteadyWindow,
  type RunSummary,
  steadyThroughput,
  summarizeRun,
  taskKey,
} from './verdict/run-summary.js'
export { combineRepeatedRuns } from './verdict/combine-runs.js'
export { rankRuns } from './verdict/ranking.js'
export { type Spread, spreadOf } from './verdict/spread.js'
export { EQUAL_P99_IDS, EQUAL_P99_SET, type Outcome, type Ratio, standings } from './verdict/standings.js'
export { aggregateByAlgorithm, baselineOf } from './verdict/algorithm-aggregate.js'
export { formatAggregateTable, formatStandings, formatTaskTable } from './table/summary-table.js'
export { headlineCaption, headlineTable, standingsTable } from './table/standings-table.js'
export { tableAsMarkdown, type TableStyle, tableStyle } from './table/report-table.js'
export { formatResultsCsv, resultsColumns } from './table/results-csv.js'
export { formatDifferences } from './table/comparison-table.js'
export { type ComparedRun, comparedRun, compareRuns, type Comparison } from './compare/compare-runs.js'
export { readResultFolder } from './compare/read-result-folder.js'
export { comparisonChart } from './chart/comparison-chart.js'
export { matrixAlgorithms, notCompeting } from './chart/matrix-algorithms.js'
export { matrixChart } from './chart/matrix-chart.js'
export {
  type Oracle,
  reportContent,
  type ReportedRun,
  type ReportedTask,
  type ReportInput,
} from './page/report-content.js'
export { type RunLog, runsOfLogs } from './page/runs-of-logs.js'
export { htmlReport } from './page/html-report.js'
export { markdownReport } from './page/markdown-report.js'
export { writeCharts, writeReport } from './page/write-report.js'
export { writePaper } from './paper/write-paper.js'
export { addReportOptions, type RawReportOptions, writtenFiles } from './report-options.js'
export { pctodlReport } from './report-logs.js'
