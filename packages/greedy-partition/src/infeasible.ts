import type { Evaluator } from './evaluator.js'
import { capFor, type leastPower } from './lowest-feasible-cap.js'
import type { InfeasiblePartition } from './result.js'

/** Why there is no configuration, after a search that found none. */
export function infeasible(evaluator: Evaluator, least: ReturnType<typeof leastPower>): InfeasiblePartition {
  const { problem, predictor, evaluations } = evaluator
  if ('reason' in least) return { feasible: false, ...least, lowestFeasibleCapW: null, evaluations }
  const lowestFeasibleCapW = capFor(least.powerW, problem.powerMarginW)
  const conditions = [
    ...(problem.powerMarginW > 0 ? [`the margin of ${problem.powerMarginW} W`] : []),
    ...(problem.powerSdCount > 0 ? [`a risk of ${problem.capExceedanceProbability} of exceeding it`] : []),
  ]
  const margin = conditions.length > 0 ? ` (with ${conditions.join(' and ')})` : ''
  return {
    feasible: false,
    reason: 'power-cap',
    message:
      `a cap of ${problem.powerCapW} W cannot be kept by ${problem.kinds.networks.join(', ')} on ` +
      `${predictor.spec.name}: raise it to at least ${lowestFeasibleCapW} W${margin}`,
    lowestFeasibleCapW,
    evaluations,
  }
}
