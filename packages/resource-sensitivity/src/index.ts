export type { Cluster } from './cluster/cluster.js'
export { parseClusterFile } from './cluster/cluster-file.js'

export type { Job } from './trace/job.js'
export { parseReplayCsv } from './trace/replay-csv.js'
export { generateTrace } from './trace/generate-trace.js'

export { ScheduleEngine } from './engine/schedule-engine.js'
export type { EngineEvent } from './engine/engine-event.js'
export type { Plan } from './engine/actions.js'

export { planNow, simulate } from './simulate/simulate.js'
export type { SimulationResult } from './simulate/simulation-options.js'
export { summarize } from './report/summarize.js'
export { allocateServer } from './mechanisms/server-allocation.js'
export { loadAllocationSolver } from './mechanisms/allocation-solver.js'

export { ImpossibleJobError, InputFileError } from './errors.js'
