import { type Composition, changed, tenantsPerNetwork } from './composition.js'
import type { Evaluation, Evaluator } from './evaluator.js'
import type { TenantKinds } from './tenant-kinds.js'

/**
 * The kinds that may still be added, each with the marginal gain it had when it was last looked at.
 *
 * Under a cap gains shrink as tenants are added (less power and bandwidth is left), so an old gain bounds the new one from
 * above, and most kinds need no second look: the accelerated greedy of Minoux (1978, "Accelerated greedy algorithms for
 * maximizing submodular set functions"). Where a gain does grow, the later improvement stage makes up for it.
 */
export class GainQueue {
  /** By kind; -Infinity once it cannot be added any more. */
  readonly gains: Float64Array
  /** By kind: the size of the composition for which the gain was computed. */
  readonly freshFor: Int32Array

  constructor(kinds: TenantKinds) {
    this.gains = Float64Array.from(kinds.published, (published) => (published === 1 ? Infinity : -Infinity))
    this.freshFor = new Int32Array(kinds.published.length).fill(-1)
  }
}

/**
 * The published `FindBestNext`: the kind with the largest gain in score per percent of share, each candidate at its own
 * highest clock under the cap. Ties go to the smaller share, then the smaller batch. While networks lack a tenant, only
 * those are candidates, and share is kept free for the rest of them.
 */
export function findBestNext(
  evaluator: Evaluator,
  queue: GainQueue,
  composition: Composition,
  score: number,
  freeUnits: number,
  memIndex: number,
): { readonly kind: number; readonly evaluation: Evaluation } | undefined {
  const { kinds } = evaluator.problem
  const { gains, freshFor } = queue
  const counts = tenantsPerNetwork(kinds, composition)
  const missing = counts.filter((count) => count === 0).length
  const mostUnits = missing > 0 ? freeUnits - missing + 1 : freeUnits

  while (evaluator.spent() === undefined) {
    let top = -1
    for (let kind = 0; kind < gains.length; kind++) {
      if (kinds.units[kind]! > mostUnits || (missing > 0 && counts[kinds.network[kind]!]! > 0)) continue
      if (gains[kind]! > (top < 0 ? -Infinity : gains[top]!)) top = kind
    }
    if (top < 0) return undefined
    const evaluation = evaluator.evaluate(changed(composition, [], [top]), memIndex)
    if (evaluation === undefined) {
      // What does not fit now will not fit beside more tenants.
      gains[top] = -Infinity
    } else if (freshFor[top] === composition.length) {
      return { kind: top, evaluation }
    } else {
      gains[top] = (evaluation.score - score) / kinds.units[top]!
      freshFor[top] = composition.length
    }
  }
  return undefined
}
