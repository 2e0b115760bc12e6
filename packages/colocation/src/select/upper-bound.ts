import { countByPlace, multisetsOf } from './exact-groups.js'
import type { GroupJudge, KeptShareSource } from './group-judge.js'

/** Number of steps of the search for the best price of a GPU. */
const STEPS = 60

/** Maximum number of co-runner groups of one job that are evaluated to find its highest kept share. */
const MAX_GROUPS_JUDGED = 300

/**
 * Returns an upper bound on the value of any grouping. In a group of size s, a job takes 1/s of a GPU and is worth at
 * most b(s): its weight times its highest kept share at that size. For any price p of a GPU, `p x gpus + sum over jobs
 * of max over s of (b(s) - p / s)` is a bound (Lagrangian relaxation of the number of GPUs). It is convex in p, so
 * ternary search finds its minimum.
 *
 * @returns Infinity if there are too many co-runner groups to evaluate and the source has no `maxKept`
 */
export function upperBound(judge: GroupJudge, pool: readonly number[], maxMembers: number, gpus: number): number {
  const { source } = judge
  const sizes = Array.from({ length: Math.min(maxMembers, pool.length) }, (_, i) => i + 1)
  const byPlace = new Map(
    [...new Set(pool)].map((own) => {
      const others = [...pool]
      others.splice(others.indexOf(own), 1)
      return [own, sizes.map((size) => judge.weightOf(own) * maxKept(source, own, others, size - 1))]
    }),
  )
  const best = pool.map((own) => byPlace.get(own)!)
  if (best.flat().includes(Infinity)) return Infinity
  const boundAt = (price: number) =>
    best.reduce((sum, bySize) => sum + Math.max(...bySize.map((value, i) => value - price / (i + 1))), price * gpus)
  let low = 0
  let high = maxMembers * 2 * Math.max(...best.flat())
  for (let step = 0; step < STEPS; step++) {
    const left = low + (high - low) / 3
    const right = high - (high - low) / 3
    if (boundAt(left) <= boundAt(right)) high = right
    else low = left
  }
  return boundAt((low + high) / 2)
}

/**
 * Returns the highest kept share of a workload next to any `coRunners` workloads out of `others`, or an upper bound if
 * there are too many such groups to try.
 */
function maxKept(source: KeptShareSource, own: number, others: readonly number[], coRunners: number): number {
  if (coRunners === 0) return 1
  const all = multisetsOf(countByPlace(others), coRunners, coRunners, MAX_GROUPS_JUDGED)
  if (all === null) return source.maxKept?.(own, others, coRunners) ?? Infinity
  return all.reduce((most, some) => Math.max(most, source.keptShares([own, ...some])[0]!), 0)
}
