// The scheduler alone: no Node APIs, no files, no solver. Its exports are also exported by the main entry.

export type { Cluster, ServerKind } from './cluster/cluster.js'
export type { Plan, PlannedJob, ScheduleAction, Seat } from './engine/actions.js'
export type { EngineEvent } from './engine/engine-event.js'
export { ScheduleEngine } from './engine/schedule-engine.js'
export type { EngineOptions, SchedulingOptions } from './engine/scheduling-options.js'
export { planNow, simulate } from './simulate/simulate.js'
export type { Incident, PlanOptions, SimulationOptions, SimulationResult } from './simulate/simulation-options.js'
export type { Job } from './trace/job.js'
