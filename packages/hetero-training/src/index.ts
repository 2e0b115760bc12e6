// Plan
export { type Budgets, findPlan, InfeasibleBudgetError } from './find-plan.js'
export type { TrainingJob } from './training-job.js'
export { evaluatePlan, type TrainingPlan } from './training-plan.js'
export { paretoFront } from './pareto-front.js'
export { simplePlans } from './simple-plans.js'
export { chooseGlobalBatch, fitConvergence } from './choose-batch.js'
export { replan, startReplanning } from './replan.js'

// Profiles and the curves through them
export type { GpuProfile } from './profile/gpu-profile.js'
export { readProfile } from './profile/profile-file.js'
export { curvesOf } from './curves/gpu-curves.js'

// Measure and carry out a plan; needs a lease of the GPU, see @pctodl/nvml-control.
export { type Board, withBoards } from './carry-out/board.js'
export { collectProfile } from './carry-out/collect-profile.js'
export { runPlan } from './carry-out/run-plan.js'
