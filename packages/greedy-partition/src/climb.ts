import type { SeededRandom } from '@pctodl/numerics'

/** A search space for hill climbing: states, moves between them, and an objective that compares two states. */
export interface Landscape<State extends object, Move> {
  /** All moves from a state. */
  movesFrom(state: State): Move[]
  /** Result of a move; undefined if it is not allowed. */
  moved(state: State, move: Move): State | undefined
  /** Result of a move if it is better than the state, otherwise undefined. */
  improved(state: State, move: Move): State | undefined
  /** Whether `a` is enough better than `b` to continue from `a`. */
  isBetter(a: State, b: State): boolean
  /** Comparator that sorts the better state first; ties do not depend on the order of calls. */
  bestFirst(a: State, b: State): number
  /**
   * Class of a state. Starts of the same class reach the same optimum, so the search uses only the best start of each
   * class.
   */
  shape(state: State): string
  /** Number of states evaluated so far. */
  readonly evaluations: number
  /** The spent budget; undefined if no budget is spent. */
  spent(): unknown
}

export interface ClimbSettings {
  /** Number of starts to climb from. */
  readonly starts: number
  /** Number of these climbs, best first, that continue until no move improves them. */
  readonly finished: number
  /** Evaluations without improvement after which a climb is suspended. */
  readonly patience: number
  /** Evaluations without improvement after which a climb from a perturbed state ends. */
  readonly patienceAfterShake: number
  /** Number of consecutive perturbations without improvement after which the search ends. */
  readonly shakes: number
}

/** Number of random moves in a perturbation. */
const MOVES_PER_SHAKE = 3

/**
 * Climbs from the best start of each shape, and finishes the best of these climbs. Then perturbs the best optimum and
 * climbs again, until this no longer helps.
 */
export function climbAll<State extends object, Move>(
  landscape: Landscape<State, Move>,
  starts: readonly State[],
  random: SeededRandom,
  { starts: most, finished, patience, patienceAfterShake, shakes }: ClimbSettings,
): State {
  const bestFirst = (a: State, b: State) => landscape.bestFirst(a, b)
  const climbs = unlike(landscape, starts)
    .slice(0, most)
    .map((start) => climb(landscape, start, random, patience))
    .sort(bestFirst)
  let best = climbs
    .slice(0, finished)
    .map((top) => (patience < Infinity ? climb(landscape, top, random) : top))
    .sort(bestFirst)[0]!
  for (let vain = 0; vain < shakes && landscape.spent() === undefined; vain++) {
    const shaken = shake(landscape, best, random)
    if (shaken === undefined) continue
    const top = climb(landscape, shaken, random, patienceAfterShake)
    if (landscape.isBetter(top, best)) {
      best = patienceAfterShake < Infinity ? climb(landscape, top, random) : top
      vain = -1
    }
  }
  return best
}

function unlike<State extends object, Move>(landscape: Landscape<State, Move>, starts: readonly State[]): State[] {
  const found = new Map<string, State>()
  for (const start of [...starts].sort((a, b) => landscape.bestFirst(a, b))) {
    const shape = landscape.shape(start)
    if (!found.has(shape)) found.set(shape, start)
  }
  return [...found.values()]
}

/**
 * Hill climbing by single moves in seeded random order. Each step takes the first improving move. The climb ends when
 * no move improves the state, the patience ends, or a budget is spent.
 */
export function climb<State extends object, Move>(
  landscape: Landscape<State, Move>,
  from: State,
  random: SeededRandom,
  patience: number = Infinity,
): State {
  let current = from
  for (;;) {
    const moves = landscape.movesFrom(current)
    const leaveAt = landscape.evaluations + patience
    let better: State | undefined
    // Lazy Fisher-Yates shuffle: draw the next move from the untried ones.
    for (let untried = moves.length; untried > 0 && better === undefined; untried--) {
      const drawn = random.integer(untried)
      const move = moves[drawn]!
      moves[drawn] = moves[untried - 1]!
      if (landscape.evaluations >= leaveAt || landscape.spent() !== undefined) return current
      better = landscape.improved(current, move)
    }
    if (better === undefined) return current
    current = better
  }
}

/** Make a few random moves regardless of the score, to reach states that improving moves alone do not reach. */
function shake<State extends object, Move>(
  landscape: Landscape<State, Move>,
  from: State,
  random: SeededRandom,
): State | undefined {
  let current = from
  let made = 0
  for (let draws = 0; made < MOVES_PER_SHAKE && draws < 4 * MOVES_PER_SHAKE; draws++) {
    if (landscape.spent() !== undefined) break
    const moves = landscape.movesFrom(current)
    if (moves.length === 0) return undefined
    const next = landscape.moved(current, moves[random.integer(moves.length)]!)
    if (next === undefined) continue
    current = next
    made++
  }
  return made === MOVES_PER_SHAKE ? current : undefined
}
