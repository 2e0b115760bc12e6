// Simple opponents: tenants under the board's power limit
export { FeedbackClock } from './feedback-clock.js'
export { LimitPolicy, type LimitPolicyOptions } from './limit-policy.js'
export { equalTenants } from './equal-tenants.js'
export { MeasuredPolicy } from './measured-policy.js'

// Published algorithms
export { PublishedPolicy } from './published-policy.js'
export { MorakPolicy } from './morak.js'
export { BatchDvfsPolicy } from './batch-dvfs.js'
export { BatchDvfsOriginalPolicy } from './batch-dvfs-original.js'
export { DirectCapPolicy } from './direct-cap.js'
export { PowerCapOnlyPolicy } from './power-cap-only.js'
export { batchDvfsFigures, morakFigures, standardBatchLadder } from './network-figures.js'

// Services
export { LatencyGovernor } from './latency-governor.js'
