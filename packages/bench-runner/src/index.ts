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
