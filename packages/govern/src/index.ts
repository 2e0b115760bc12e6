// Metrics of servers
export type { BatchLimits, BatchTime, EndpointState, ServiceSample } from './metrics/service-sample.js'
export { endpointState } from './metrics/service-sample.js'
export { readTriton, readTritonLimits } from './metrics/triton.js'
export { type LatencyKind, readVllm, type VllmSample } from './metrics/vllm.js'
export { type MetricNames, readMapped } from './metrics/mapped.js'
// The law
export { type GovernDecision, type GovernInput, GovernLaw, type GovernLawOptions } from './law/govern-law.js'
export type { GovernedService } from './law/service-forecast.js'
