// The scheduler alone: no Node APIs, no files, no solver. Its exports are also exported by the main entry.

export type { Cluster } from './cluster/cluster.js'
export type { Plan } from './engine/actions.js'
export type { EngineEvent } from './engine/engine-event.js'
export { ScheduleEngine } from './engine/schedule-engine.js'
export { planNow, simulate } from './simulate/simulate.js'
export type { SimulationResult } from './simulate/simulation-options.js'
export type { Job } from './trace/job.js'
