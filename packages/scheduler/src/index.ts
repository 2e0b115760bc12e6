export { type RunOptions, runPolicy } from './run-policy.js'
export type {
  Action,
  AppliedState,
  PowerCapPolicy,
  SampleObservation,
  TenantWindow,
  WindowObservation,
} from './policy.js'
export { PctodlPolicy, type PctodlPolicyOptions } from './pctodl-policy.js'
export { type PlanOptions, planPartition } from './plan-partition.js'
