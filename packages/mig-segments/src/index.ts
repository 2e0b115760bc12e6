// What is measured and asked for.
export type { ProfilePoint, ServiceObjective, ServiceProfile } from './profile.js'
export { throughputOf } from './profile.js'
export {
  DEFAULT_MAX_PROCESSES,
  formatProfileCsv,
  parseFleetProfileCsv,
  parseProfileCsv,
  CLOCK_COLUMN,
  POWER_COLUMN,
  profileColumns,
  type ProfileOptions,
} from './input/parse-profile-csv.js'
export { exampleFolder, loadFleetProfiles, loadObjectives, loadProfiles } from './input/load-inputs.js'
export { lintProfile } from './input/lint-profile.js'
export { type ObjectiveFile, parseObjectives, scenarioAt } from './input/parse-objectives.js'
export { SegmentFileError } from '@pctodl/mig-deploy'
// Plan.
export {
  type BoundedPlan,
  type PlanOptions,
  type PowerCap,
  planSegments,
  simulatePlan,
  TooFewGpusError,
} from './plan-segments.js'
export type { PlannedGpu, PlannedSegment, SegmentPlan, ServedService } from './segment-plan.js'
export { DEFAULT_LATENCY_SHARE, latencyGateMs } from './latency-gate.js'
export { type BatchDelay, batchDelays, lateSegments } from './batch-delay.js'
export { fitBatches } from './fit-batches.js'
export { planAsPublished, type PublishedOptions, type PublishedPlan } from './published/published-plan.js'
// By what requests meet.
export { type StatedTraffic, statedArrivals, underErrors } from './tail/stated-traffic.js'
export { breaksFirst, explainLimits, type ServiceLimit, serviceLimits } from './tail/service-limits.js'
export type { Dispatch } from './tail/ways.js'
export type { QueueOutcome } from './tail/simulate-queue.js'
// Plan on boards of several types.
export type { BoardGroup, Fleet, FleetPoint, FleetProfile } from './fleet/fleet.js'
export { type FleetOptions, planFleet } from './fleet/plan-fleet.js'
export type { FleetPlan, UnservedReason, UnservedService } from './fleet/fleet-plan.js'
export type { InstanceCompany } from './fleet/shared-points.js'
export { type SimulatedService, type SimulationOptions, simulateFleet } from './fleet/simulate-fleet.js'
export { loadCompany } from './input/load-company.js'
export type { FleetBoard, FleetSegment } from './fleet/place-fleet.js'
export { loadFleet } from './input/load-fleet.js'
// Change a running plan.
export { type FleetReplan, type FleetReplanOptions, replanFleet } from './replan/replan-fleet.js'
export { stepFleetMaps } from './replan/fleet-step-maps.js'
export type { FleetInstance, FleetStep } from './replan/fleet-migration.js'
// Follow rates over a day.
export { type DayOptions, type DaySchedule, type DayTotals, type PlannedPeriod, planDay } from './day/plan-day.js'
// One type of board.
export { boardsOf, fleetOf, gpusOf } from './fleet/one-board.js'
// MIG geometry.
export {
  assignStarts,
  assignStartsBeside,
  COMPUTE_SLICES,
  findMigBoard,
  footprints,
  type MigBoard,
  migBoardKeys,
  type Placement,
  placementConflict,
  type SegmentSize,
  segmentSizes,
} from '@pctodl/mig-deploy'
// Outputs; `@pctodl/mig-deploy` carries maps out.
export {
  DEFAULT_GPUS_PER_NODE,
  fleetMapColumns,
  formatDeploymentMap,
  formatFleetMap,
  type MappedBoard,
  type MappedGpu,
  type MappedSegment,
  mapColumns,
  parseDeploymentMap,
  parseFleetMap,
} from '@pctodl/mig-deploy'
export { explainBounds, explainPlan } from './output/explain.js'
