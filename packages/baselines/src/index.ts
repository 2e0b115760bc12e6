// Simple opponents: tenants under the board's limit
export type { ClockPlanner } from './tuned-form.js'
export { FeedbackClock, type FeedbackClockOptions, feedbackStep } from './feedback-clock.js'
export { LimitPolicy, type LimitPolicyOptions } from './limit-policy.js'
export { equalTenants } from './equal-tenants.js'
export { MeasuredPolicy, type MeasuredPolicyOptions } from './measured-policy.js'

// Published algorithms
export { type MorakOptions, MorakPolicy } from './morak.js'
export { type BatchDvfsOptions, BatchDvfsPolicy } from './batch-dvfs.js'
export { BatchDvfsOriginalPolicy, type BatchDvfsOriginalOptions } from './batch-dvfs-original.js'
export { type DirectCapOptions, type DirectCapPlan, DirectCapPolicy } from './direct-cap.js'
export { type PowerCapOnlyOptions, PowerCapOnlyPolicy } from './power-cap-only.js'
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
export { LatencyGovernor } from './services/latency-governor.js'
export { type ServicesBatchDvfsOptions, ServicesBatchDvfsPolicy } from './services/services-batch-dvfs.js'
