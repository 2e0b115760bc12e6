export { allocationOptions, type AllocationOption, type AllocationOptions } from './mechanisms/allocation-options.js'

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
export { parseReplayCsv } from './trace/replay-csv.js'
export {
  type DurationRange,
  type GenerateOptions,
  generateTrace,
  type GpuCount,
  multiGpu,
  phillyDurations,
  shortDurations,
} from './trace/generate-trace.js'

export { type MechanismName, mechanismNames, type PolicyName, policyNames } from './engine/scheduling-options.js'
export type { EngineOptions, SchedulingOptions } from './engine/scheduling-options.js'
export { ScheduleEngine } from './engine/schedule-engine.js'
export type { EngineEvent } from './engine/engine-event.js'
export type {
  Grant,
  MigrateAction,
  PlaceAction,
  PreemptAction,
  PreemptReason,
  ResizeAction,
  ScheduleAction,
} from './engine/actions.js'
export type { JobState, Plan, PlannedJob, RunningJobState, Seat } from './engine/actions.js'

export { planNow, simulate } from './simulate/simulate.js'
export type { Incident, PlanOptions, SimulationOptions } from './simulate/simulation-options.js'
export type { JobResult, SimulationResult } from './simulate/simulation-options.js'
export type { MeanUsage } from './engine/usage-record.js'
export { type ScheduleSummary, summarize } from './report/summarize.js'
export type { Resident } from './mechanisms/server-allocation.js'
export { allocateServer } from './mechanisms/server-allocation.js'
export type {
  AllocationProblem,
  AllocationSolution,
  AllocationSolver,
  JobGroup,
} from './mechanisms/allocation-solver.js'
export { loadAllocationSolver } from './mechanisms/allocation-solver.js'

export { ImpossibleJobError, InputFileError } from './errors.js'
