export type {
  Action,
  AppliedState,
  PowerCapPolicy,
  SampleObservation,
  TenantWindow,
  WindowObservation,
} from './policy.js'
