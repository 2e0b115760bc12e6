export type { Cluster } from './cluster.js'
export { parseClusterFile } from './input-files.js'

export type { Job } from './trace.js'
export { parseReplayCsv } from './input-files.js'
export { generateTrace } from './trace.js'

export { ScheduleEngine } from './engine/schedule-engine.js'
export type { EngineEvent } from './engine/actions.js'
export type { Plan } from './engine/actions.js'

export { planNow, simulate } from './simulate.js'
export type { SimulationResult } from './simulate.js'
export { summarize } from './summarize.js'
export { allocateServer } from './mechanisms/allocation.js'
export { loadAllocationSolver } from './mechanisms/allocation-solver.js'

export { ImpossibleJobError, InputFileError } from './errors.js'
