export { type RunOptions, runPolicy } from './run-policy.js'
export type {
  Action,
  AppliedState,
  Decision,
  PowerCapPolicy,
  SampleObservation,
  TenantFailure,
  TenantWindow,
  WindowObservation,
} from './policy.js'
export type { ActionSource, RunEvent, RunEventBody } from './run-event.js'
export { type Replay, type ReplayDifference, replayRun } from './replay.js'
export type { Setter } from './actuator.js'
export { PctodlPolicy, type PctodlPolicyOptions } from './pctodl/pctodl-policy.js'
export { ReferencePolicy, type ReferencePolicyOptions } from './reference-policy.js'
export { type PlanOptions, planPartition } from './plan-partition.js'
export * from './shadow/index.js'
export * from './evaluate/index.js'
