export { type Experiment, experimentSchema } from './experiment.js'
export { experimentPolicy } from './experiment-policy.js'
export type { NotedPolicy } from './policy.js'
export { readRecordedExperiment } from './recorded-experiment.js'
export { EventLogWriter } from './event-log-writer.js'
export {
  capsByIteration,
  type IterationSchedule,
  publishedSchedules,
  SCHEDULED_ITERATIONS,
  WINDOW_MS,
} from './published-schedules.js'
export { type BackendKind, backendKinds } from './backend-kind.js'
