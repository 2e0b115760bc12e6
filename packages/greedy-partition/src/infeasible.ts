import type { CompositionEvaluator } from './composition-evaluator.js'
import { capFor, type minPower } from './lowest-feasible-cap.js'
import type { InfeasiblePartition } from './result.js'

/** Explain why a search found no configuration. */
export function infeasible(evaluator: CompositionEvaluator, least: ReturnType<typeof minPower>): InfeasiblePartition {
  const { problem, predictor, evaluations, leftOut } = evaluator
  const { boardLimitW, powerCapW, powerMarginW, capExceedanceProbability } = problem
  const result = (
    lowestFeasibleCapW: number | null,
    why: Pick<InfeasiblePartition, 'reason' | 'message'>,
  ): InfeasiblePartition => ({
    feasible: false,
    ...why,
    lowestFeasibleCapW,
    ...(boardLimitW === undefined ? {} : { boardLimitW }),
    evaluations,
  })
  if ('reason' in least) return result(null, least)
  const lowestW = capFor(least.powerW, powerMarginW)
  const maxW = predictor.spec.powerLimitW.max
  const reachable = lowestW <= maxW
  const networks = problem.kinds.networks.join(', ')
  if (lowestW <= powerCapW && leftOut > 0) {
    return result(reachable ? lowestW : null, {
      reason: 'distance',
      message:
        `all that ${networks} could run as on ${predictor.spec.name} lies further than ` +
        `${problem.maxDistance} from what the predictor was fitted to: measure some rows, or allow a larger maxDistance`,
    })
  }
  const conditions = [
    ...(powerMarginW > 0 ? [`the margin of ${powerMarginW} W`] : []),
    ...(capExceedanceProbability === undefined ? [] : [`a risk of ${capExceedanceProbability} of exceeding it`]),
  ]
  const margin = conditions.length > 0 ? ` (with ${conditions.join(' and ')})` : ''
  return result(reachable ? lowestW : null, {
    reason: 'power-cap',
    message:
      `a cap of ${powerCapW} W cannot be kept by ${networks} on ${predictor.spec.name}: ` +
      (reachable
        ? `raise it to at least ${lowestW} W${margin}`
        : `it takes ${lowestW} W${margin}, and the board's highest limit is ${maxW} W`),
  })
}
