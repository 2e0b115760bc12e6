import type { CompositionEvaluator } from './composition-evaluator.js'
import { capFor, type minPower } from './lowest-feasible-cap.js'
import type { InfeasiblePartition } from './result.js'

/** Explain why a search found no configuration. */
export function infeasible(evaluator: CompositionEvaluator, least: ReturnType<typeof minPower>): InfeasiblePartition {
  const { problem, predictor, evaluations } = evaluator
  const clamped = problem.boardLimitW === undefined ? {} : { boardLimitW: problem.boardLimitW }
  if ('reason' in least) return { feasible: false, ...least, lowestFeasibleCapW: null, ...clamped, evaluations }
  const lowestW = capFor(least.powerW, problem.powerMarginW)
  const maxW = predictor.spec.powerLimitW.max
  const lowestFeasibleCapW = lowestW <= maxW ? lowestW : null
  if (lowestW <= problem.powerCapW && evaluator.leftOut > 0) {
    return {
      feasible: false,
      reason: 'distance',
      message:
        `all that ${problem.kinds.networks.join(', ')} could run as on ${predictor.spec.name} lies further than ` +
        `${problem.maxDistance} from what the predictor was fitted to: measure some rows, or allow a larger maxDistance`,
      lowestFeasibleCapW,
      ...clamped,
      evaluations,
    }
  }
  const conditions = [
    ...(problem.powerMarginW > 0 ? [`the margin of ${problem.powerMarginW} W`] : []),
    ...(problem.capExceedanceProbability !== undefined
      ? [`a risk of ${problem.capExceedanceProbability} of exceeding it`]
      : []),
  ]
  const margin = conditions.length > 0 ? ` (with ${conditions.join(' and ')})` : ''
  return {
    feasible: false,
    reason: 'power-cap',
    message:
      `a cap of ${problem.powerCapW} W cannot be kept by ${problem.kinds.networks.join(', ')} on ` +
      `${predictor.spec.name}: ` +
      (lowestFeasibleCapW === null
        ? `it takes ${lowestW} W${margin}, and the board's highest limit is ${maxW} W`
        : `raise it to at least ${lowestW} W${margin}`),
    lowestFeasibleCapW,
    ...clamped,
    evaluations,
  }
}
