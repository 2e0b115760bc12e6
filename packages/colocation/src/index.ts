export {
  formatWorkloadName,
  type KernelMetrics,
  parseWorkloadName,
  type Workload,
  WorkloadCatalog,
  type WorkloadName,
} from './workload.js'
export {
  assertColocation,
  contains,
  type Colocation,
  keptShares,
  type Members,
  membersLabel,
  throughputSum,
  weightedSpeedup,
} from './colocation.js'
export { type KernelLaunch, parseNsightComputeCsv } from './profile/nsight-compute.js'
export { aggregateLaunches } from './profile/aggregate-launches.js'
export { type MeanUtilization, parseMemoryLog, parseProcessMonitorLog } from './profile/monitor-logs.js'
export { type ProfilingCommands, type ProfilingRequest, profilingCommands } from './profile/profiling-commands.js'
export { formatWorkloadTable, parseWorkloadTable } from './tables/workload-table.js'
export { type ColocationRow, formatColocationTable, parseColocationTable } from './tables/colocation-table.js'
export {
  parseShareSweepTable,
  parseSoloSweepTable,
  type SharePoint,
  type ShareSweep,
} from './tables/share-sweep-table.js'
export { TableError } from './tables/table-error.js'
export { type FittedSlowdown, SlowdownModel } from './model/slowdown-model.js'
export { type FittedGroupPower, GroupPowerModel } from './model/group-power.js'
export { type Scaling, scalingOf, standardize } from './model/standardize.js'
export type { Novelty } from './model/novelty.js'
export type { ColocationPrediction, Interval } from './model/prediction.js'
export {
  additivePower,
  type ColocationGroup,
  type GroupLimits,
  type GroupPower,
  type KeptShareSource,
  type Objective,
} from './select/group-judge.js'
export { groupsForInstance, type InstanceDemand, type InstanceGroup } from './select/groups-for-instance.js'
export { type RankedGroup, rankPartners, undecided } from './select/rank-partners.js'
export { type Grouping, groupPool, type PoolOptions } from './select/group-pool.js'
export { chooseShares, type ShareChoice } from './select/choose-shares.js'
export { expectedShareSweep } from './select/expected-share-sweep.js'
export { allColocationsOf, mostInformative, occurrencePlan } from './collect/plan-measurements.js'
export {
  type CoRunnerMeasurement,
  measureCoRunners,
  type MeasuringWindow,
  tenantOfWorkload,
} from './collect/measure-co-runners.js'
export { type CollectOptions, collectTables } from './collect/collect-tables.js'
export { leftOutSplits, type Split, unseenWorkloadSplits } from './evaluate/splits.js'
export { type Accuracy, accuracy } from './evaluate/accuracy.js'
export { type TargetGain, targetGains } from './evaluate/target-gain.js'
export { type Evaluation, evaluateMethod } from './evaluate/evaluate-method.js'
export { type Method, type Prepared, slowdownMethod } from './evaluate/method.js'
