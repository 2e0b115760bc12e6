import { SeededRandom } from '@pctodl/numerics'
import type { Predictor } from '@pctodl/perf-model'
import { type Candidate, reached } from './candidate.js'
import { CompositionEvaluator } from './composition-evaluator.js'
import { equalShares } from './equal-shares.js'
import { feasible } from './feasible.js'
import { withFewProcesses } from './few-processes.js'
import { greedy } from './greedy.js'
import { bestFirst, improveAll } from './improve.js'
import { infeasible } from './infeasible.js'
import { minPower } from './lowest-feasible-cap.js'
import type { PartitionOptions } from './options.js'
import type { PartitionResult } from './result.js'
import { searchProblem } from './search-problem.js'

/**
 * Choose MPS shares, batch sizes, SM clock and memory clock for maximum throughput. The predicted power stays at or
 * below the cap minus the margin.
 *
 * @throws InvalidInputError for invalid options, or options that the predictor does not support. A cap, SLO, minimum
 * throughput or memory that cannot be met is a result (`feasible: false`), not an error.
 */
export function partition(predictor: Predictor, options: PartitionOptions): PartitionResult {
  const problem = searchProblem(predictor, options)
  const evaluator = new CompositionEvaluator(predictor, problem)
  const memStates = problem.memClocksMhz.map((_, memIndex) => memIndex)

  // Run the greedy stage once per memory state: the best state for the first tenant may be worse for the whole board.
  let starts = memStates.flatMap((memIndex) => greedy(evaluator, memIndex) ?? [])
  // An interrupted greedy stage leaves part of the board empty, so the time limit applies only to the later stages.
  evaluator.watchTime()
  if (problem.improve) starts.push(...memStates.flatMap((memIndex) => equalShares(evaluator, memIndex)))
  if (starts.length === 0) {
    const least = minPower(predictor, problem)
    starts = lastResort(evaluator, least)
    if (starts.length === 0) return infeasible(evaluator, least)
  }

  const found = problem.improve
    ? improveAll(evaluator, starts, new SeededRandom(problem.seed))
    : starts.sort(bestFirst)[0]!
  const stoppedBecause = problem.improve ? (evaluator.spent() ?? 'no-improving-move') : 'greedy-only'
  const chosen = problem.objective === 'throughput' ? found : withFewProcesses(evaluator, found)
  return feasible(evaluator, chosen, stoppedBecause)
}

/**
 * Returns the configuration of least power as the only start, or nothing if it is not allowed. It is used if the greedy
 * stage found no allowed configuration.
 */
function lastResort(evaluator: CompositionEvaluator, least: ReturnType<typeof minPower>): Candidate[] {
  if ('reason' in least || least.powerW > evaluator.problem.powerLimitW) return []
  const evaluation = evaluator.evaluate(least.composition, least.memIndex)
  if (evaluation === undefined) return []
  return [reached(evaluator, [], 'greedy', 'the tenants of least power', evaluation)]
}
