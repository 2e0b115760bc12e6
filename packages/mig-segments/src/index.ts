// Measurements and objectives.
export { type ProfilePoint, type ServiceObjective, type ServiceProfile, throughputOf } from './profile.js'
export { formatProfileCsv, parseProfileCsv, type ProfileOptions } from './input/parse-profile-csv.js'
export { exampleFolder, loadObjectives, loadProfiles } from './input/load-inputs.js'
export { scenarioAt } from './input/parse-objectives.js'
// Plan for boards of one type.
export {
  type BoundedPlan,
  type PlannedGpu,
  type PlanOptions,
  type PowerCap,
  planSegments,
  simulatePlan,
  TooFewGpusError,
} from './plan-segments.js'
export { latencyGateMs } from './latency-gate.js'
// Plan for boards of several types, with prices, clocks and limits on watts.
export type { BoardGroup, Fleet } from './fleet/fleet.js'
export { type FleetOptions, planFleet } from './fleet/plan-fleet.js'
export type { FleetPlan } from './fleet/fleet-plan.js'
export type { FleetBoard } from './fleet/place-fleet.js'
export type { InstanceCoRunners } from './fleet/shared-points.js'
export { loadFleet } from './input/load-fleet.js'
export { loadCoRunners } from './input/load-co-runners.js'
export { fleetOf, gpusOf } from './fleet/one-board.js'
// Change a running plan; follow rates over a day.
export { type FleetReplan, type FleetReplanOptions, replanFleet } from './replan/replan-fleet.js'
export { stepFleetMaps } from './replan/fleet-migration.js'
export type { FleetStep } from './replan/fleet-migration.js'
export { type DayOptions, type DaySchedule, planDay } from './day/plan-day.js'
// Simulated traffic.
export type { StatedTraffic } from './tail/stated-traffic.js'
export { breaksFirst, type ServiceLimit, serviceLimits } from './tail/service-limits.js'
export { simulateFleet } from './fleet/simulate-fleet.js'
export type { SimulatedService, SimulationOptions } from './tail/simulate-queue.js'
