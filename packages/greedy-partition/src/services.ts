export { exhaustiveServices } from './services/exhaustive-services.js'
export { type PlainManner, plainPlan } from './services/plain-plan.js'
export type { ServiceGoal, ServicePlanOptions } from './services/plan-options.js'
export type {
  FeasibleServicePlan,
  InfeasibleServicePlan,
  PlanBinds,
  PlanBound,
  ServicePlan,
} from './services/plan-result.js'
export { planServices } from './services/plan-services.js'
