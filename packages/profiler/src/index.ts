export { makePlan, parseMatrix, type PlanRequest } from './plan/make-plan.js'
export {
  defaultMeasure,
  type MeasureOptions,
  parsePlan,
  type PlannedRow,
  type ProfilePlan,
  type SweepName,
  sweepNames,
} from './plan/profile-plan.js'
export { anchorGrid, anchorSweep, type GridCells, identicalTenants } from './plan/anchor-grid.js'
export { type ClockRange, clocksOfRange, clockSweep, frequencyScaling, staticSweep } from './plan/clock-sweep.js'
export { type MixOptions, mixSweep } from './plan/mix-sweep.js'
export { type ActiveOptions, activeSweep } from './plan/active-sweep.js'
export { orderRows } from './plan/order-rows.js'
export { expectedDuration, type PlannedDuration } from './plan/expected-duration.js'
export { efficiencyOf, findKnee, type KneeOptions, type KneePoint } from './sweep/find-knee.js'
export { type Sweep, sweepBoard, type SweepOptions, type SweptSetting } from './sweep/sweep-board.js'
export { runPlan, type RunPlanOptions } from './run-plan.js'
export type { ProfiledBoard } from './measure/profiled-board.js'
export type { ProfileRow } from './measure/profile-row.js'
export { type RowStatus, rowStatuses } from './measure/row-status.js'
export { isSettled } from './measure/settle.js'
export { type WindowErrors, windowErrors } from './measure/standard-error.js'
export type { Observation } from './measure/observation.js'
export { TraceStore } from './trace/trace-store.js'
export { type Manifest, readManifest } from './trace/manifest.js'
export { formatProfileRow, parseProfileCsv, profileHeader } from './trace/profile-csv.js'
export { formatStaticRow, parseStaticCsv, staticHeader } from './trace/static-csv.js'
export { type RepeatSummary, summarizeRepeats } from './trace/summarize-repeats.js'
