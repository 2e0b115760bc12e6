import type { CompositionEvaluator, Evaluation } from './composition-evaluator.js'
import { exceedanceOf } from './plan-risk.js'
import type { FeasiblePartition, PartitionStep, StoppedBecause } from './result.js'

/** The best that a search found, as the caller sees it. */
export function feasible(
  evaluator: CompositionEvaluator,
  best: Evaluation,
  stoppedBecause: StoppedBecause,
  steps: readonly PartitionStep[],
): FeasiblePartition {
  const { powerCapW, boardLimitW } = evaluator.problem
  const configuration = evaluator.configuration(best)
  const domain = evaluator.predictor.domain?.(configuration)
  const capExceedanceProbability = exceedanceOf(evaluator.predictor, configuration, best.prediction, powerCapW)
  return {
    feasible: true,
    configuration,
    prediction: best.prediction,
    ...(domain === undefined ? {} : { domain }),
    ...(boardLimitW === undefined ? {} : { boardLimitW }),
    weightedThroughput: best.score,
    marginW: powerCapW - best.prediction.powerW,
    ...(capExceedanceProbability === undefined ? {} : { capExceedanceProbability }),
    evaluations: evaluator.evaluations,
    stoppedBecause,
    steps,
  }
}
