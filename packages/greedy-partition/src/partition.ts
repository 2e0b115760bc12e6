import { SeededRandom } from '@pctodl/numerics'
import type { Predictor } from '@pctodl/perf-model'
import { type Candidate, stepsOf } from './candidate.js'
import { CompositionEvaluator } from './composition-evaluator.js'
import { equalShares } from './equal-shares.js'
import { feasible } from './feasible.js'
import { greedy } from './greedy.js'
import { bestFirst, improveAll } from './improve.js'
import { infeasible } from './infeasible.js'
import { leastPower } from './lowest-feasible-cap.js'
import type { PartitionOptions } from './options.js'
import type { PartitionResult } from './result.js'
import { searchProblem } from './search-problem.js'

/**
 * Choose MPS shares, batch sizes, SM clock and memory clock for the most throughput while predicted power stays below the
 * cap less the margin.
 *
 * @throws InvalidInputError for options that no search could use, or that ask of the predictor what it does not know; a cap,
 *   SLO, least throughput or memory that cannot be kept is a result (`feasible: false`), not an error
 */
export function partition(predictor: Predictor, options: PartitionOptions): PartitionResult {
  const problem = searchProblem(predictor, options)
  const evaluator = new CompositionEvaluator(predictor, problem)
  const memStates = problem.memClocksMhz.map((_, memIndex) => memIndex)

  // Once per memory state: a state that looks better for the first tenant may be worse for the whole board.
  let starts = memStates.flatMap((memIndex) => greedy(evaluator, memIndex) ?? [])
  // A greedy stage that is cut short has filled a part of the board only, so time is for what comes after it.
  evaluator.watchTime()
  if (problem.improve) starts.push(...memStates.flatMap((memIndex) => equalShares(evaluator, memIndex)))
  if (starts.length === 0) {
    const least = leastPower(predictor, problem)
    starts = lastResort(evaluator, least)
    if (starts.length === 0) return infeasible(evaluator, least)
  }

  const found = problem.improve
    ? improveAll(evaluator, starts, new SeededRandom(problem.seed))
    : starts.sort(bestFirst)[0]!
  const stoppedBecause = problem.improve ? (evaluator.spent() ?? 'no-improving-move') : 'greedy-only'
  return feasible(evaluator, found.evaluation, stoppedBecause, stepsOf(evaluator, found.trail))
}

/** The configuration of least power, where the budget or the greedy choices missed every other one. */
function lastResort(evaluator: CompositionEvaluator, least: ReturnType<typeof leastPower>): Candidate[] {
  if ('reason' in least || least.powerW > evaluator.problem.powerLimitW) return []
  const evaluation = evaluator.evaluate(least.composition, least.memIndex)
  return evaluation === undefined
    ? []
    : [{ evaluation, trail: [{ stage: 'greedy', move: 'the tenants of least power', evaluation }] }]
}
