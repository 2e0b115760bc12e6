export { type MorakOptions, MorakPolicy } from './morak.js'
export { type BatchDvfsOptions, BatchDvfsPolicy } from './batch-dvfs.js'
export { BatchDvfsOriginalPolicy, type BatchDvfsOriginalOptions } from './batch-dvfs-original.js'
export { type DirectCapOptions, type DirectCapPlan, DirectCapPolicy } from './direct-cap.js'
export { type PowerCapOnlyOptions, PowerCapOnlyPolicy } from './power-cap-only.js'
export { LimitAgentPolicy, type LimitAgentOptions } from './limit-agent.js'
export { EqualSplitPolicy, type EqualSplitOptions } from './equal-split.js'
export type { ClockPlanner } from './tuned-form.js'
export { type StaticBestOptions, StaticBestPolicy } from './static-best.js'
export {
  type BaselineVariant,
  type BatchDvfsFigures,
  batchDvfsFigures,
  type MorakFigures,
  morakFigures,
  publishedBatchDvfsFigures,
  publishedMorakFigures,
  standardBatchLadder,
} from './network-figures.js'
export { MemoryClockSearch } from './memory-clock-search.js'
export { PublishedMemorySearch } from './published-memory-search.js'
// Services
export type { ServicesBaselineOptions, ServicesStart, ServicesStartPlanner } from './services/services-start.js'
export { ServicesUnderLimitPolicy, type ServicesUnderLimitOptions } from './services/services-under-limit.js'
export { ServicesBatchDvfsPolicy } from './services/services-batch-dvfs.js'
export { QueueGovernorPolicy, type QueueGovernorOptions } from './services/queue-governor.js'
export { LatencyGovernorPolicy } from './services/latency-governor.js'
