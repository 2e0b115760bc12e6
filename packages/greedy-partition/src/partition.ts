import type { Predictor } from '@pctodl/perf-model'
import { SeededRandom } from '@pctodl/platform'
import { type Candidate, stepsOf } from './candidate.js'
import { equalShares } from './equal-shares.js'
import { better, Evaluator } from './evaluator.js'
import { greedy } from './greedy.js'
import { improve, shake } from './improve.js'
import { infeasible } from './infeasible.js'
import { leastPower } from './lowest-feasible-cap.js'
import { type PartitionOptions, searchProblem } from './options.js'
import type { PartitionResult, StoppedBecause } from './result.js'

/** How many of the starting configurations are improved. */
const STARTS = 4

/** How often in a row the best is shaken in vain before the search gives up, and by how many random moves. */
const SHAKES = 4
const MOVES_PER_SHAKE = 3

/**
 * Choose MPS shares, batch sizes, SM clock and memory clock for the most throughput while predicted power stays below the
 * cap less the margin.
 *
 * @throws InvalidInputError for options that no search could use; a cap, SLO or memory that cannot be kept is a result
 *   (`feasible: false`), not an error
 */
export function partition(predictor: Predictor, options: PartitionOptions): PartitionResult {
  const problem = searchProblem(predictor, options)
  const evaluator = new Evaluator(predictor, problem)
  const memStates = problem.memClocksMhz.map((_, memIndex) => memIndex)

  // Once per memory state: a state that looks better for the first tenant may be worse for the whole board.
  let starts = memStates.flatMap((memIndex) => greedy(evaluator, memIndex) ?? [])
  if (problem.improve) starts.push(...memStates.flatMap((memIndex) => equalShares(evaluator, memIndex)))
  if (starts.length === 0) {
    const least = leastPower(predictor, problem)
    starts = lastResort(evaluator, least)
    if (starts.length === 0) return infeasible(evaluator, least)
  }

  let best = starts.reduce(betterCandidate)
  let stoppedBecause: StoppedBecause = 'greedy-only'
  if (problem.improve) {
    best = improveAll(evaluator, starts, best)
    stoppedBecause = evaluator.spent() ?? 'no-improving-move'
  }
  const { evaluation, trail } = best
  return {
    feasible: true,
    configuration: evaluator.configuration(evaluation),
    prediction: evaluation.prediction,
    weightedThroughput: evaluation.score,
    marginW: problem.powerCapW - evaluation.prediction.powerW,
    evaluations: evaluator.evaluations,
    stoppedBecause,
    steps: stepsOf(evaluator, trail),
  }
}

/** Climb from the best starts, then from shaken copies of the best top, until none leads higher. */
function improveAll(evaluator: Evaluator, starts: readonly Candidate[], greatest: Candidate): Candidate {
  const random = new SeededRandom(evaluator.problem.seed)
  let best = greatest
  for (const start of unlikeStarts(starts).slice(0, STARTS)) {
    best = betterCandidate(best, improve(evaluator, start, random))
  }
  for (let vain = 0; vain < SHAKES; vain++) {
    const shaken = shake(evaluator, best, MOVES_PER_SHAKE, random)
    if (shaken === undefined) continue
    const climbed = improve(evaluator, shaken, random)
    if (climbed.evaluation.score > best.evaluation.score) {
      best = climbed
      vain = -1
    }
  }
  return best
}

/** The configuration of least power, where the budget or the greedy choices missed every other one. */
function lastResort(evaluator: Evaluator, least: ReturnType<typeof leastPower>): Candidate[] {
  if ('reason' in least || least.powerW > evaluator.problem.powerLimitW) return []
  const evaluation = evaluator.evaluate(least.composition, least.memIndex)
  return evaluation === undefined
    ? []
    : [{ evaluation, trail: [{ stage: 'greedy', move: 'the tenants of least power', evaluation }] }]
}

function betterCandidate(a: Candidate, b: Candidate): Candidate {
  return better(a.evaluation, b.evaluation) === a.evaluation ? a : b
}

/** The best start for each number of tenants and memory state, best first: starts too alike climb to the same top. */
function unlikeStarts(candidates: readonly Candidate[]): Candidate[] {
  const unlike = new Map<string, Candidate>()
  for (const candidate of candidates) {
    const { composition, memIndex } = candidate.evaluation
    const shape = `${composition.length} ${memIndex}`
    const known = unlike.get(shape)
    unlike.set(shape, known === undefined ? candidate : betterCandidate(known, candidate))
  }
  return [...unlike.values()].sort((a, b) => (betterCandidate(a, b) === a ? -1 : 1))
}
