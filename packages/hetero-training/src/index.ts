export { type Budgets, type FoundPlan, findPlan, InfeasibleBudgetError } from './find-plan.js'
export type { TrainingGpu, TrainingJob } from './training-job.js'
export type { Assignment, GpuPlan, TrainingPlan } from './training-plan.js'
export { type ParetoFront, paretoFront } from './pareto-front.js'
export { type ComparedPlanName, comparedPlans, keepsBudgets } from './compare-plans.js'
export { publishedPlan, type SimplePlanName, simplePlans, splitInProportion } from './simple-plans.js'
export type { GpuProfile, ProfileRow, ProfileUnit } from './profile/gpu-profile.js'
export { type ReadProfileOptions, readProfile } from './profile/read-profile.js'
export { parseProfileCsv } from './profile/profile-csv.js'
export { type ProfileFile, parseProfileJson } from './profile/profile-json.js'
export { type CurveKind, curvesOf, type GpuCurves } from './curves/gpu-curves.js'
export {
  PUBLISHED_BATCH,
  type PublishedAllocation,
  type PublishedMethod,
  publishedAllocation,
  publishedMethods,
} from './published/published-search.js'
