// Metrics of servers
export type { BatchLimits, BatchTime, EndpointState, Latencies, ServiceSample } from './metrics/service-sample.js'
export { endpointState } from './metrics/service-sample.js'
export { readTriton, readTritonLimits } from './metrics/triton.js'
export { type HistogramSample, type LatencyKind, type MetricNames, readMapped, readVllm } from './metrics/histograms.js'
// The law
export { type GovernDecision, type GovernInput, GovernLaw, type GovernLawOptions } from './law/govern-law.js'
export type { GovernedService } from './law/service-forecast.js'
// The program
export { type GovernConfig, parseConfig, readConfig } from './config.js'
export { type GovernorOptions, type GovernStep, runGovernor, type ServiceStep } from './governor.js'
export { energyOf, type ServiceEnergy } from './commands/energy-command.js'
