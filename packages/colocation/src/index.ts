// Workloads and colocations, and tables of them
export { parseWorkloadName, type Workload } from './workload.js'
export { type Colocation, type Members, throughputSum } from './colocation.js'
export { TableError } from './tables/csv-table.js'
export {
  formatColocationTable,
  formatWorkloadTable,
  parseColocationTable,
  parseWorkloadTable,
  readStudy,
} from './tables/study-tables.js'

// Measure
export { aggregateLaunches, parseNsightComputeCsv } from './profile/nsight-compute.js'
export { parseMemoryLog, parseProcessMonitorLog } from './profile/monitor-logs.js'
export { allColocationsOf, mostInformative, occurrencePlan } from './collect/plan-measurements.js'
export { collectTables, measureCoRunners } from './collect/measure-co-runners.js'

// Predict
export { SlowdownModel } from './model/slowdown-model.js'
export type { ColocationPrediction } from './model/prediction.js'
export { scalingOf, standardize } from './model/standardize.js'

// Choose
export type { GroupPower, KeptShareSource } from './select/group-judge.js'
export { rankPartners, undecided } from './select/rank-partners.js'
export { groupPool } from './select/group-pool.js'
export { groupsForInstance } from './select/groups-for-instance.js'

// Evaluate
export { leftOutSplits, type Split, unseenWorkloadSplits } from './evaluate/splits.js'
export { accuracy } from './evaluate/accuracy.js'
export {
  evaluateMethod,
  type Method,
  slowdownMethod,
  type TargetGain,
  targetGains,
} from './evaluate/evaluate-method.js'
