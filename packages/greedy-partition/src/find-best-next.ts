import { type Composition, changed, tenantsPerNetwork } from './composition.js'
import type { CompositionEvaluator, Evaluation } from './composition-evaluator.js'
import type { TenantKinds } from './tenant-kinds.js'

/** Minimum number of candidates evaluated per round, so that one outdated gain never decides alone. */
const MIN_LOOKS = 2

/** Lower bound of the decay, so that gains stay comparable. */
const MIN_DECAY = 1e-3

/**
 * The kinds that may still be added, each with the marginal gain of its last evaluation.
 *
 * Under a cap, gains shrink as tenants are added, because less power and bandwidth is left. They shrink together. Each
 * gain is therefore stored relative to the common `decay` of its round, and a stored gain times the current decay is
 * the expected gain. Only kinds whose expected gain exceeds the best gain need an evaluation. This is the accelerated
 * greedy algorithm of Minoux (1978, "Accelerated greedy algorithms for maximizing submodular set functions"), with an
 * expectation instead of his upper bound. It needs half as many evaluations, and the improvement stage recovers what it
 * misses.
 */
export class GainQueue {
  /** For each kind, the last gain divided by the decay at that time; -Infinity once the kind no longer fits. */
  readonly gains: Float64Array
  /** For each kind, the size of the composition for which the gain was computed. */
  readonly freshFor: Int32Array
  /** Current gains relative to the gains on the empty board. */
  decay = 1

  constructor(kinds: TenantKinds) {
    this.gains = Float64Array.from(kinds.published, (published) => (published === 1 ? Infinity : -Infinity))
    this.freshFor = new Int32Array(kinds.published.length).fill(-1)
  }
}

interface NextTenant {
  readonly kind: number
  readonly evaluation: Evaluation
  /** Score per unit of share. */
  readonly gain: number
}

/**
 * The published `FindBestNext`: finds the kind with the largest gain in score per unit of share. Each candidate is
 * evaluated at its own highest clock within the cap. Ties go to the smaller share, then to the smaller batch. While
 * some networks lack a tenant, only these networks are candidates, and a candidate must leave share for the others.
 */
export function findBestNext(
  evaluator: CompositionEvaluator,
  queue: GainQueue,
  composition: Composition,
  score: number,
  freeUnits: number,
  memIndex: number,
): NextTenant | undefined {
  const { kinds } = evaluator.problem
  const { gains, freshFor } = queue
  const counts = tenantsPerNetwork(kinds, composition)
  const missing = counts.filter((count) => count === 0).length
  const maxUnits = missing > 0 ? freeUnits - missing + 1 : freeUnits
  const round = composition.length
  let best: NextTenant | undefined

  for (let looks = 0; evaluator.spent() === undefined; looks++) {
    let top = -1
    for (let kind = 0; kind < gains.length; kind++) {
      if (freshFor[kind] === round || kinds.units[kind]! > maxUnits) continue
      if (missing > 0 && counts[kinds.network[kind]!]! > 0) continue
      if (gains[kind]! > (top < 0 ? -Infinity : gains[top]!)) top = kind
    }
    if (top < 0) break
    if (best !== undefined && looks >= MIN_LOOKS && best.gain >= gains[top]! * queue.decay) break
    const evaluation = evaluator.evaluate(changed(composition, [], [top]), memIndex)
    if (evaluation === undefined) {
      // A tenant that does not fit now will not fit with more tenants either.
      gains[top] = -Infinity
      continue
    }
    const gain = (evaluation.score - score) / kinds.units[top]!
    const decay = gain / gains[top]!
    if (decay > 0 && decay < Infinity && (best === undefined || decay > queue.decay)) {
      queue.decay = Math.min(1, Math.max(MIN_DECAY, decay))
    }
    gains[top] = gain / queue.decay
    freshFor[top] = round
    const tie = best !== undefined && gain === best.gain && top < best.kind
    if (best === undefined || gain > best.gain || tie) best = { kind: top, evaluation, gain }
  }
  return best
}
