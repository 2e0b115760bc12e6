// Measurements and objectives.
export {
  latencyGateMs,
  type ProfilePoint,
  type ServiceObjective,
  type ServiceProfile,
  throughputOf,
} from './profile.js'
export { formatProfileCsv, parseProfileCsv } from './input/parse-profile-csv.js'
export { exampleFolder, loadObjectives, loadProfiles } from './input/load-inputs.js'
export { scenarioAt } from './input/parse-objectives.js'
// Plan for boards of one type.
export { type BoundedPlan, type PlannedGpu, planSegments, simulatePlan } from './plan-segments.js'
// Plan for boards of several types, with prices, clocks and limits on watts.
export { planFleet } from './fleet/plan-fleet.js'
export type { FleetPlan } from './fleet/fleet-plan.js'
export { loadFleet } from './input/load-fleet.js'
export { type Fleet, fleetOf } from './fleet/fleet.js'
export { gpusOf } from './map/deployment-map.js'
// Change a running plan; follow rates over a day.
export { replanFleet } from './replan/replan-fleet.js'
export { planDay } from './day/plan-day.js'
// Simulated traffic.
export { breaksFirst, serviceLimits } from './tail/service-limits.js'
export { simulateFleet } from './fleet/simulate-fleet.js'
