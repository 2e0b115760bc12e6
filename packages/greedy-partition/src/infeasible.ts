import type { CompositionEvaluator } from './composition-evaluator.js'
import { capFor, type minPower } from './lowest-feasible-cap.js'
import type { InfeasiblePartition } from './result.js'

/** Explain why a search found no configuration. */
export function infeasible(
  { problem, predictor, evaluations }: CompositionEvaluator,
  least: ReturnType<typeof minPower>,
): InfeasiblePartition {
  const { boardLimitW, powerCapW, powerMarginW, capExceedanceProbability } = problem
  const rest = { ...(boardLimitW === undefined ? {} : { boardLimitW }), evaluations }
  if ('reason' in least) return { feasible: false, ...least, lowestFeasibleCapW: null, ...rest }
  const lowestW = capFor(least.powerW, powerMarginW)
  const maxW = predictor.spec.powerLimitW.max
  const conditions = [
    ...(powerMarginW > 0 ? [`the margin of ${powerMarginW} W`] : []),
    ...(capExceedanceProbability === undefined ? [] : [`a risk of ${capExceedanceProbability} of exceeding it`]),
  ]
  const margin = conditions.length > 0 ? ` (with ${conditions.join(' and ')})` : ''
  return {
    feasible: false,
    reason: 'power-cap',
    message:
      `a cap of ${powerCapW} W cannot be kept by ${problem.kinds.networks.join(', ')} on ${predictor.spec.name}: ` +
      (lowestW <= maxW
        ? `raise it to at least ${lowestW} W${margin}`
        : `it takes ${lowestW} W${margin}, and the board's highest limit is ${maxW} W`),
    lowestFeasibleCapW: lowestW <= maxW ? lowestW : null,
    ...rest,
  }
}
