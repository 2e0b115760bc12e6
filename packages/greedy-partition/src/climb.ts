import type { SeededRandom } from '@pctodl/numerics'

/** What is climbed: states, moves between them, and an objective that says which of two states is better. */
export interface Landscape<State extends object, Move> {
  /** All moves from a state. */
  movesFrom(state: State): Move[]
  /** Where a move leads; undefined where that is not allowed. */
  moved(state: State, move: Move): State | undefined
  /** Where a move leads, if that is better than the state. */
  improved(state: State, move: Move): State | undefined
  /** Whether a top is worth going on from. */
  isBetter(a: State, b: State): boolean
  /** The better of two states first; no order of calls decides ties. */
  bestFirst(a: State, b: State): number
  /** Starts of one shape climb to the same top: the best of them is enough. */
  shape(state: State): string
  /** States looked at so far, and whether a budget is spent. */
  readonly evaluations: number
  spent(): unknown
}

export interface ClimbSettings {
  /** How many starts are climbed from, and how many of the tops reached are climbed to the end. */
  readonly starts: number
  readonly finished: number
  /** Evaluations in vain after which a climb is left for later, and one from a shaken state for good: most of its height is gained before. */
  readonly patience: number
  readonly patienceAfterShake: number
  /** How often in a row the best is shaken in vain before the search gives up. */
  readonly shakes: number
}

/** Random moves that shake a state. */
const MOVES_PER_SHAKE = 3

/** Climb from unlike starts, finish the best climbs, then climb from shaken copies of the best top until none leads higher. */
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

/** Single moves in seeded random order, each taken as soon as it helps, until none does, patience ends or a budget is spent. */
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
    // Fisher-Yates as far as it is needed: draw the next move from those not tried yet.
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

/** A few random moves, whether or not they help: a place to climb from that single improving moves do not reach. */
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
