export {
  type BenchTask,
  benchTasks,
  capsOf,
  everyTask,
  taskFileStem,
  type TaskSchedule,
  type TaskSet,
  taskSets,
  tasksOf,
} from './tasks.js'
export { latencyObjectives, soloLatencyMs } from './latency-objective.js'
export { type AlgorithmName, algorithmGroups, algorithmNames, createPolicy, parseAlgorithms } from './algorithms.js'
export { runTask, type RunTaskOptions } from './run-task.js'
export { benchRunner } from './matrix-command.js'
export { WINDOW_MS } from '@pctodl/run'
// What comes of a run is judged, drawn and compared by `@pctodl/report`, whose most used names are had from here, too.
export {
  aggregateByAlgorithm,
  type AlgorithmAggregate,
  bestHoldingRun,
  combineRepeatedRuns,
  combineRuns,
  comparisonChart,
  formatAggregateTable,
  formatResultsCsv,
  formatTaskTable,
  matrixChart,
  type PowerSeries,
  rankRuns,
  resultsColumns,
  type RunRecord,
  type RunSummary,
  STEADY_TOLERANCE,
  steadyThroughput,
  summarizeRun,
  type TableStyle,
  tableStyle,
  type Verdict,
  verdict,
} from '@pctodl/report'
