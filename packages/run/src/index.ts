export { type Experiment, type ExperimentAlgorithm, experimentAlgorithms, experimentSchema } from './experiment.js'
export { experimentPolicy, type NotedPolicy } from './experiment-policy.js'
export { readRecordedExperiment, type RecordedExperiment } from './recorded-experiment.js'
export { EventLogWriter, eventLogOf } from './event-log-writer.js'
export { readCapSchedule } from './cap-schedule-file.js'
export {
  capsByIteration,
  type IterationSchedule,
  publishedSchedules,
  SCHEDULED_ITERATIONS,
  WINDOW_MS,
} from './published-schedules.js'
export { type BackendKind, backendKinds } from './backend-kind.js'
export { pctodlRun } from './run-command.js'
