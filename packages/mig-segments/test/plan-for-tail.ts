import { type BoundedPlan, planSegments, type ServiceObjective, type ServiceProfile } from '../src/index.js'
import type { PlanOptions } from '../src/plan-segments.js'

/** A plan by the tail, in little work. */
export const planForTail = (
  profiles: readonly ServiceProfile[],
  objectives: readonly ServiceObjective[],
  options: PlanOptions = {},
): Promise<BoundedPlan> => planSegments(profiles, objectives, { gate: 'tail', maxIterations: 3000, ...options })
