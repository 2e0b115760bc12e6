import { exceedanceOf } from './bounds.js'
import type { Evaluation, Evaluator } from './evaluator.js'
import type { FeasiblePartition, PartitionStep, StoppedBecause } from './result.js'

/** The best that a search found, as the caller sees it. */
export function feasible(
  evaluator: Evaluator,
  best: Evaluation,
  stoppedBecause: StoppedBecause,
  steps: readonly PartitionStep[],
): FeasiblePartition {
  const { powerCapW } = evaluator.problem
  const capExceedanceProbability = exceedanceOf(best.prediction, powerCapW)
  return {
    feasible: true,
    configuration: evaluator.configuration(best),
    prediction: best.prediction,
    weightedThroughput: best.score,
    marginW: powerCapW - best.prediction.powerW,
    ...(capExceedanceProbability === undefined ? {} : { capExceedanceProbability }),
    evaluations: evaluator.evaluations,
    stoppedBecause,
    steps,
  }
}
