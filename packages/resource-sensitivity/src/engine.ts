// The scheduler alone: no Node APIs, no files, no solver. Its exports are also exported by the main entry.

export type { Cluster } from './cluster.js'
export type { EngineEvent, Plan } from './engine/actions.js'
export { ScheduleEngine } from './engine/schedule-engine.js'
export type { SimulationResult } from './simulate.js'
export { planNow, simulate } from './simulate.js'
export type { Job } from './trace.js'
