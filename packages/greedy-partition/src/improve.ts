import type { SeededRandom } from '@pctodl/numerics'
import { type Candidate, describeKinds, reached } from './candidate.js'
import { type ClimbSettings, climbAll, type Landscape } from './climb.js'
import { changed } from './composition.js'
import { better, type CompositionEvaluator, type Evaluation } from './composition-evaluator.js'
import { type Move, movesFrom } from './moves.js'

/** Gains below this fraction of the score are rounding errors. */
const MIN_GAIN = 1e-9

/** The coarse search adds only shares that are multiples of this many units. */
const COARSE_GRAIN = 2
/** The coarse search runs only if the board has at least this many coarse units. */
const MIN_COARSE_UNITS = 5

const settings: ClimbSettings = { starts: 8, finished: 2, patience: 40, patienceAfterShake: 60, shakes: 8 }

/**
 * The improvement stage. It first climbs from the best starts in double share steps, where a board has few
 * configurations and single moves reach far. It then climbs in single steps from the resulting optimum and from the
 * best starts.
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
  const at = (grain: number, from: readonly Candidate[]) =>
    climbAll(new Compositions(evaluator, grain), from, random, settings)
  if (totalUnits < COARSE_GRAIN * MIN_COARSE_UNITS || coarse.length === 0) return at(1, starts)
  return at(1, [...starts, at(COARSE_GRAIN, coarse)])
}

/** Search space of the configurations that meet every bound. A higher score is better. */
class Compositions implements Landscape<Candidate, Move> {
  readonly #evaluator: CompositionEvaluator
  readonly #grain: number

  /** @param grain moves add only shares that are multiples of this many units */
  constructor(evaluator: CompositionEvaluator, grain: number) {
    this.#evaluator = evaluator
    this.#grain = grain
  }

  movesFrom({ evaluation: { composition, memIndex } }: Candidate): Move[] {
    return movesFrom(this.#evaluator.problem, composition, memIndex, this.#grain)
  }

  moved(from: Candidate, move: Move): Candidate | undefined {
    const evaluation = this.#evaluate(from, move)
    if (evaluation === undefined) return undefined
    return reached(this.#evaluator, from.steps, 'shake', describeMove(this.#evaluator, move), evaluation)
  }

  improved(from: Candidate, move: Move): Candidate | undefined {
    const evaluation = this.#evaluate(from, move)
    if (evaluation === undefined || evaluation.score <= from.evaluation.score * (1 + MIN_GAIN)) return undefined
    return reached(this.#evaluator, from.steps, 'improve', describeMove(this.#evaluator, move), evaluation)
  }

  isBetter(a: Candidate, b: Candidate): boolean {
    return a.evaluation.score > b.evaluation.score
  }

  bestFirst(a: Candidate, b: Candidate): number {
    return bestFirst(a, b)
  }

  shape({ evaluation: { composition, memIndex } }: Candidate): string {
    return `${composition.length} ${memIndex}`
  }

  get evaluations(): number {
    return this.#evaluator.evaluations
  }

  spent(): unknown {
    return this.#evaluator.spent()
  }

  #evaluate({ evaluation }: Candidate, { removed, added, memIndex }: Move): Evaluation | undefined {
    return this.#evaluator.evaluate(changed(evaluation.composition, removed, added), memIndex)
  }
}

export function bestFirst(a: Candidate, b: Candidate): number {
  if (a.evaluation === b.evaluation) return 0
  return better(a.evaluation, b.evaluation) === a.evaluation ? -1 : 1
}

function describeMove(evaluator: CompositionEvaluator, move: Move): string {
  if (move.name === 'memory') return `memory to ${evaluator.problem.memClocksMhz[move.memIndex]} MHz`
  if (move.name === 'add') return `add ${describeKinds(evaluator, move.added)}`
  if (move.name === 'drop') return `drop ${describeKinds(evaluator, move.removed)}`
  return `${move.name} ${describeKinds(evaluator, move.removed)} -> ${describeKinds(evaluator, move.added)}`
}
