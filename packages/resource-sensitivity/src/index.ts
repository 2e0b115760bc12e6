export { allocationOptions, type AllocationOption, type AllocationOptions } from './engine/allocation-options.js'

export {
  assertCluster,
  type Cluster,
  countGpus,
  countServers,
  expandServers,
  type ServerKind,
} from './cluster/cluster.js'
export { parseClusterFile } from './cluster/cluster-file.js'

export type { Job } from './trace/job.js'
export { formatReplayCsv, parseReplayCsv } from './trace/replay-csv.js'
export {
  type DurationRange,
  type GenerateOptions,
  generateTrace,
  type GpuCount,
  multiGpu,
  phillyDurations,
  shortDurations,
  singleGpu,
} from './trace/generate-trace.js'
export {
  parsePhillyLog,
  type PhillyFilter,
  type PhillyJob,
  type PhillyTraceOptions,
  traceFromPhilly,
} from './trace/philly.js'

export { type MechanismName, mechanismNames, type PolicyName, policyNames } from './engine/policy.js'
export type { EngineOptions, SchedulingOptions } from './engine/scheduling-options.js'
export { ScheduleEngine } from './engine/schedule-engine.js'
export type { EngineEvent, Reservation } from './engine/engine-event.js'
export type {
  Grant,
  MigrateAction,
  PlaceAction,
  PreemptAction,
  PreemptReason,
  ResizeAction,
  ScheduleAction,
} from './engine/schedule-action.js'
export { type Assignment, Assignments } from './engine/assignments.js'
export type { JobState, Plan, PlannedJob, RunningJobState, Seat } from './engine/plan.js'

export { planNow, simulate } from './simulate/simulate.js'
export type { Incident, PlanOptions, SimulationOptions } from './simulate/simulation-options.js'
export type { JobResult, SimulationResult } from './simulate/simulation-result.js'
export type { UsageBin } from './engine/usage-record.js'
export { type ScheduleSummary, summarize } from './report/summarize.js'
export type { Resident } from './engine/resident.js'
export { allocateServer } from './engine/server-allocation.js'
export type {
  AllocationProblem,
  AllocationSolution,
  AllocationSolver,
  AllocationWeight,
  JobGroup,
} from './optimal/allocation-problem.js'
export { loadAllocationSolver } from './optimal/allocation-solver.js'

export { ImpossibleJobError, InputFileError } from './errors.js'
