import type { SeededRandom } from '@pctodl/numerics'
import { layoutsAround } from './layout-moves.js'
import { bestFirst, type LayoutScorer, type Scored } from './layout-scorer.js'

/** How many starts are climbed from. */
const STARTS = 3
/** How often in a row the best is shaken in vain before the search gives up, and by how many random moves. */
const SHAKES = 6
const MOVES_PER_SHAKE = 3
/** Gains below this part are rounding. */
const LEAST_GAIN = 1e-6

/** Climb from the best starts, then from shaken copies of the best top until none leads higher. */
export function climbLayouts(scorer: LayoutScorer, starts: readonly Scored[], random: SeededRandom): Scored {
  const tops = [...starts]
    .sort(bestFirst)
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

/** Moves in seeded random order, each taken as soon as it helps, until none does. */
function climb(scorer: LayoutScorer, from: Scored, random: SeededRandom): Scored {
  let current = from
  for (;;) {
    const around = layoutsAround(scorer.problem, current.layout)
    let better: Scored | undefined
    for (let untried = around.length; untried > 0 && better === undefined; untried--) {
      if (scorer.spent() !== undefined) return current
      const drawn = random.integer(untried)
      const next = scorer.score(around[drawn]!)
      around[drawn] = around[untried - 1]!
      if (next !== undefined && isBetter(next, current)) better = next
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

function isBetter(a: Scored, b: Scored): boolean {
  if (a.shortfall !== b.shortfall) return a.shortfall < b.shortfall * (1 - LEAST_GAIN)
  return a.cost < b.cost - LEAST_GAIN * Math.abs(b.cost)
}
