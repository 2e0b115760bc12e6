import type { SeededRandom } from '@pctodl/numerics'
import type { Candidate } from './candidate.js'
import { better, type CompositionEvaluator } from './composition-evaluator.js'
import { improve, shake } from './improve.js'

/** How many starts are climbed from, and how many of the tops reached are climbed to the end. */
const STARTS = 8
const FINISHED = 2

/** Evaluations in vain after which a climb is left for later: most of its height is gained before. */
const PATIENCE = 40
const PATIENCE_AFTER_SHAKE = 60

/** How often in a row the best is shaken in vain before the search gives up, and by how many random moves. */
const SHAKES = 8
const MOVES_PER_SHAKE = 3

/** Shares are first searched in double steps, where that leaves at least this many of them to the board. */
const COARSE_GRAIN = 2
const LEAST_COARSE_UNITS = 5

/**
 * The improvement stage: climb from the best starts in double share steps, where a board has few configurations and single
 * moves reach far, then from that top and the best starts in single steps.
 */
export function improveAll(
  evaluator: CompositionEvaluator,
  starts: readonly Candidate[],
  random: SeededRandom,
): Candidate {
  const { kinds, totalUnits } = evaluator.problem
  const coarse = starts.filter(({ evaluation }) =>
    evaluation.composition.every((kind) => kinds.units[kind]! % COARSE_GRAIN === 0),
  )
  if (totalUnits < COARSE_GRAIN * LEAST_COARSE_UNITS || coarse.length === 0) {
    return climbAll(evaluator, starts, 1, random)
  }
  return climbAll(evaluator, [...starts, climbAll(evaluator, coarse, COARSE_GRAIN, random)], 1, random)
}

/** Climb from unlike starts, finish the best climbs, then climb from shaken copies of the best top until none leads higher. */
function climbAll(
  evaluator: CompositionEvaluator,
  starts: readonly Candidate[],
  grain: number,
  random: SeededRandom,
): Candidate {
  const climbs = unlikeStarts(starts)
    .slice(0, STARTS)
    .map((start) => improve(evaluator, start, random, grain, PATIENCE))
    .sort(bestFirst)
  let best = climbs
    .slice(0, FINISHED)
    .map((climb) => improve(evaluator, climb, random, grain))
    .sort(bestFirst)[0]!
  for (let vain = 0; vain < SHAKES && evaluator.spent() === undefined; vain++) {
    const shaken = shake(evaluator, best, MOVES_PER_SHAKE, random, grain)
    if (shaken === undefined) continue
    const climbed = improve(evaluator, shaken, random, grain, PATIENCE_AFTER_SHAKE)
    if (climbed.evaluation.score > best.evaluation.score) {
      best = improve(evaluator, climbed, random, grain)
      vain = -1
    }
  }
  return best
}

export function bestFirst(a: Candidate, b: Candidate): number {
  if (a.evaluation === b.evaluation) return 0
  return better(a.evaluation, b.evaluation) === a.evaluation ? -1 : 1
}

/** The best start for each number of tenants and memory state, best first: starts too alike climb to the same top. */
function unlikeStarts(candidates: readonly Candidate[]): Candidate[] {
  const unlike = new Map<string, Candidate>()
  for (const candidate of [...candidates].sort(bestFirst)) {
    const { composition, memIndex } = candidate.evaluation
    const shape = `${composition.length} ${memIndex}`
    if (!unlike.has(shape)) unlike.set(shape, candidate)
  }
  return [...unlike.values()]
}
