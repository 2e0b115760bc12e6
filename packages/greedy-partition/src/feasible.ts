import type { Prediction } from '@pctodl/perf-model'
import type { Candidate } from './candidate.js'
import type { CompositionEvaluator } from './composition-evaluator.js'
import { tradeOf } from './few-processes.js'
import { exceedanceOf } from './plan-risk.js'
import type { FeasiblePartition, StoppedBecause } from './result.js'

/** Result for the best configuration that a search found. */
export function feasible(
  evaluator: CompositionEvaluator,
  { evaluation: best, steps }: Candidate,
  stoppedBecause: StoppedBecause,
): FeasiblePartition {
  const { powerCapW, boardLimitW, objective } = evaluator.problem
  const configuration = evaluator.configuration(best)
  const domain = evaluator.predictor.domain?.(configuration)
  const prediction = evaluator.predictionOf(best)
  const capExceedanceProbability = exceedanceOf(evaluator.predictor, configuration, prediction, powerCapW)
  return {
    feasible: true,
    configuration,
    // Plain data, because the standard deviations of a prediction may be computed when they are read.
    prediction: JSON.parse(JSON.stringify(prediction)) as Prediction,
    ...(domain === undefined ? {} : { domain }),
    ...(boardLimitW === undefined ? {} : { boardLimitW }),
    weightedThroughput: best.score,
    marginW: powerCapW - best.powerW,
    ...(capExceedanceProbability === undefined ? {} : { capExceedanceProbability }),
    ...(objective === 'throughput' ? {} : { trade: tradeOf(evaluator) }),
    evaluations: evaluator.evaluations,
    stoppedBecause,
    steps,
  }
}
