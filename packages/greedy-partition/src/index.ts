export { partition } from './partition.js'
export type { NetworkDemand, PartitionOptions } from './options.js'
export type {
  FeasiblePartition,
  InfeasiblePartition,
  PartitionResult,
  PartitionStep,
  StoppedBecause,
  TradeRow,
} from './result.js'
export { lowestFeasibleCap } from './lowest-feasible-cap.js'
export { countCompositions, exhaustive } from './exhaustive.js'
