import type { SeededRandom } from '@pctodl/numerics'
import { layoutsAround } from './layout-moves.js'
import { bestFirst, isBetter, type LayoutScorer, type Scored } from './layout-scorer.js'

/** How many starts are climbed from. */
const STARTS = 4
/** How often in a row the best is shaken in vain before the search gives up, and by how many random moves. */
const SHAKES = 12
const MOVES_PER_SHAKE = 3

/** Climb from the best starts, then from shaken copies of the best top until none leads higher. */
export function climbLayouts(scorer: LayoutScorer, starts: readonly Scored[], random: SeededRandom): Scored {
  const tops = unlike(starts)
    .slice(0, STARTS)
    .map((start) => climb(scorer, start, random))
  let best = tops.sort(bestFirst)[0]!
  for (let vain = 0; vain < SHAKES && scorer.spent() === undefined; vain++) {
    const shaken = shake(scorer, best, random)
    if (shaken === undefined) continue
    const top = climb(scorer, shaken, random)
    if (isBetter(top, best)) {
      best = top
      vain = -1
    }
  }
  return best
}

/** The best start for each number of processes and memory state, best first: starts too alike climb to the same top. */
function unlike(starts: readonly Scored[]): Scored[] {
  const best = new Map<string, Scored>()
  for (const start of [...starts].sort(bestFirst)) {
    const { services, memIndex } = start.layout
    const shape = `${memIndex} ${services.reduce((sum, { count }) => sum + count, 0)}`
    if (!best.has(shape)) best.set(shape, start)
  }
  return [...best.values()]
}

/** Moves in seeded random order, each taken as soon as it helps, until none does. */
function climb(scorer: LayoutScorer, from: Scored, random: SeededRandom): Scored {
  let current = from
  for (;;) {
    const around = layoutsAround(scorer.problem, current.layout)
    let better: Scored | undefined
    for (let untried = around.length; untried > 0 && better === undefined; untried--) {
      if (scorer.spent() !== undefined) return current
      const drawn = random.integer(untried)
      better = scorer.scoreAbove(around[drawn]!, current)
      around[drawn] = around[untried - 1]!
    }
    if (better === undefined) return current
    current = better
  }
}

function shake(scorer: LayoutScorer, from: Scored, random: SeededRandom): Scored | undefined {
  let current = from
  let made = 0
  for (let draws = 0; made < MOVES_PER_SHAKE && draws < 4 * MOVES_PER_SHAKE && !scorer.spent(); draws++) {
    const around = layoutsAround(scorer.problem, current.layout)
    if (around.length === 0) return undefined
    const next = scorer.score(around[random.integer(around.length)]!)
    if (next === undefined) continue
    current = next
    made++
  }
  return made === 0 ? undefined : current
}
