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
 * Under a cap gains shrink as tenants are added (less power and bandwidth is left), and they shrink together. So each
 * gain is stored relative to the common `decay` of its round; multiplied by the current decay it is the expected gain,
 * and only kinds that are expected to beat the best one need an evaluation. This is the accelerated greedy of Minoux
 * (1978, "Accelerated greedy algorithms for maximizing submodular set functions") with an expectation instead of his
 * upper bound. It needs half of his evaluations, and the improvement stage recovers what it misses.
 */
export class GainQueue {
  /** By kind: last gain divided by the decay at that time; -Infinity once the kind no longer fits. */
  readonly gains: Float64Array
  /** By kind: size of the composition for which the gain was computed. */
  readonly freshFor: Int32Array
  /** Current gains relative to those on the empty board. */
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
 * The published `FindBestNext`: the kind with the largest gain in score per unit of share, each candidate at its own
 * highest clock within the cap. Ties go to the smaller share, then the smaller batch. While networks lack a tenant,
 * only those networks are candidates, and share is reserved for the others among them.
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
