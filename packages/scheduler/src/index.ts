export { type RunOptions, runPolicy } from './run-policy.js'
export type {
  Action,
  AppliedState,
  Decision,
  PowerCapPolicy,
  SampleObservation,
  ServiceWindow,
  TenantFailure,
  TenantWindow,
  WindowObservation,
} from './policy.js'
export type { ActionSource, RunEvent, RunEventBody, Setter } from './run-event.js'
export type { ServedOptions, ServiceListStep } from './run-services.js'
export { type Replay, type ReplayDifference, replayRun } from './replay.js'
export { PctodlPolicy } from './pctodl/pctodl-policy.js'
export type { PctodlPolicyOptions } from './pctodl/pctodl-policy-options.js'
export { ServicesPolicy, type ServicesPolicyOptions } from './services/services-policy.js'
export {
  type PlannedLoad,
  planWithModel,
  type ServicesGoal,
  type ServicesPlanner,
} from './services/services-planner.js'
export { ServingClocks } from './services/serving-clocks.js'
export { ArrivalRate } from './services/arrival-rate.js'
export { CapLaw } from './services/cap-law.js'
export { type ClockPlan, planClocks } from './plan-clocks.js'
export { type PlanOptions, planPartition, type ServedNetworks } from './plan-partition.js'
export { commonLoad, commonLoadPredictor, type LoadMix } from './common-load.js'
export { type ShadowContext, ShadowOptimizer, type ShadowOptions } from './shadow-optimizer.js'
export type { Candidate } from './neighbourhood.js'
