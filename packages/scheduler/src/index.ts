export { type RunOptions, runPolicy } from './run-policy.js'
export type {
  Action,
  AppliedState,
  PowerCapPolicy,
  SampleObservation,
  ServiceWindow,
  WindowObservation,
} from './policy.js'
export type { RunEvent, RunEventBody } from './run-event.js'
export type { ServiceListStep } from './run-services.js'
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
export { planPartition } from './plan-partition.js'
export { commonLoad, commonLoadPredictor, type LoadMix } from './common-load.js'
