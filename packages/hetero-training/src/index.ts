export { type Budgets, type FoundPlan, findPlan, InfeasibleBudgetError, keepsBudgets } from './find-plan.js'
export {
  type BatchChoice,
  type ChosenBatch,
  type Convergence,
  chooseGlobalBatch,
  fitConvergence,
} from './choose-batch.js'
export {
  type GpuReport,
  type ReplanAnswer,
  type ReplanOptions,
  type ReplanState,
  replan,
  startReplanning,
} from './replan.js'
export type { TrainingGpu, TrainingJob } from './training-job.js'
export { type Assignment, evaluatePlan, type GpuPlan, type TrainingPlan } from './training-plan.js'
export { type ParetoFront, paretoFront } from './pareto-front.js'
export { type SimplePlanName, simplePlans } from './simple-plans.js'
export type { GpuProfile, ProfileRow, ProfileUnit } from './profile/gpu-profile.js'
export { type ProfileFile, readProfile } from './profile/profile-file.js'
export { curvesOf, type GpuCurves } from './curves/gpu-curves.js'
export type { CurveKind } from './curves/setting-lines.js'
export type { Setting } from './profile/setting.js'
// Carry a plan out: with a GPU's lease, see @pctodl/nvml-control.
export { type CollectOptions, collectProfile, type TrainingSteps } from './carry-out/collect-profile.js'
export { type PlanFile, type RunFile, readPlan, readRun } from './carry-out/plan-file.js'
export { launchEnvironment } from './carry-out/launch-environment.js'
export { type RunOptions, runPlan } from './carry-out/run-plan.js'
export { type Board, type BoardOptions, type EnergyWindow, type Measured, withBoards } from './carry-out/board.js'
