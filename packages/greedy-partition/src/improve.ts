import type { SeededRandom } from '@pctodl/numerics'
import { type Candidate, describeKinds, type TrailStep } from './candidate.js'
import { changed } from './composition.js'
import type { CompositionEvaluator } from './composition-evaluator.js'
import { type Move, movesFrom } from './moves.js'

/** Gains below this part of the score are rounding, not improvement. */
const LEAST_GAIN = 1e-9

/**
 * Climb by single moves, tried in seeded random order and taken as soon as one helps, until none does or the budget is
 * spent. Only configurations that keep every bound are ever accepted, so whenever it ends, the result is usable.
 *
 * @param grain shares that moves bring in are multiples of so many units
 * @param patience evaluations in vain in a row after which to leave it
 */
export function improve(
  evaluator: CompositionEvaluator,
  from: Candidate,
  random: SeededRandom,
  grain = 1,
  patience: number = Infinity,
): Candidate {
  let current = from.evaluation
  const trail: TrailStep[] = [...from.trail]
  for (;;) {
    const moves = movesFrom(evaluator.problem, current.composition, current.memIndex, grain)
    const leaveAt = evaluator.evaluations + patience
    let taken: Move | undefined
    // Fisher-Yates as far as it is needed: draw the next move from those not tried yet.
    for (let untried = moves.length; untried > 0 && taken === undefined; untried--) {
      const drawn = random.integer(untried)
      const move = moves[drawn]!
      moves[drawn] = moves[untried - 1]!
      if (evaluator.evaluations >= leaveAt || evaluator.spent() !== undefined) return { evaluation: current, trail }
      const next = evaluator.evaluate(changed(current.composition, move.removed, move.added), move.memIndex)
      if (next !== undefined && next.score > current.score * (1 + LEAST_GAIN)) {
        taken = move
        current = next
      }
    }
    if (taken === undefined) return { evaluation: current, trail }
    trail.push({ stage: 'improve', move: describeMove(evaluator, taken), evaluation: current })
  }
}

/**
 * Make `count` random moves, whether or not they help; undefined where too many of the draws are not allowed. Its result is
 * a place to climb from that single improving moves do not reach.
 */
export function shake(
  evaluator: CompositionEvaluator,
  from: Candidate,
  count: number,
  random: SeededRandom,
  grain = 1,
): Candidate | undefined {
  let { evaluation, trail } = from
  let made = 0
  for (let draws = 0; made < count && draws < 4 * count && evaluator.spent() === undefined; draws++) {
    const moves = movesFrom(evaluator.problem, evaluation.composition, evaluation.memIndex, grain)
    if (moves.length === 0) return undefined
    const move = moves[random.integer(moves.length)]!
    const next = evaluator.evaluate(changed(evaluation.composition, move.removed, move.added), move.memIndex)
    if (next === undefined) continue
    evaluation = next
    trail = [...trail, { stage: 'shake', move: describeMove(evaluator, move), evaluation }]
    made++
  }
  return made === count ? { evaluation, trail } : undefined
}

function describeMove(evaluator: CompositionEvaluator, move: Move): string {
  if (move.name === 'memory') return `memory to ${evaluator.problem.memClocksMhz[move.memIndex]} MHz`
  if (move.name === 'add') return `add ${describeKinds(evaluator, move.added)}`
  if (move.name === 'drop') return `drop ${describeKinds(evaluator, move.removed)}`
  return `${move.name} ${describeKinds(evaluator, move.removed)} -> ${describeKinds(evaluator, move.added)}`
}
