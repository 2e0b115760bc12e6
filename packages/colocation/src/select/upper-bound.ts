import { countByPlace } from './candidate-groups.js'
import type { GroupJudge, KeptShareSource } from './group-judge.js'

/** Halvings of the interval in which the best price of a GPU is looked for. */
const STEPS = 60

/** Up to so many groups of co-runners of one job are looked at one by one for the one that leaves it most. */
const MAX_GROUPS_JUDGED = 300

/**
 * A value that no grouping exceeds. In a group of size s a job is worth at most b(s), its weight times the most that it keeps
 * in any group of that size, and takes 1/s of a GPU. For any price p of a GPU, `p x gpus + sum over jobs of max over s of
 * (b(s) - p / s)` is a bound (Lagrangian relaxation of the number of GPUs); it is convex in p, and the least is taken.
 *
 * @returns Infinity where there are too many groups of co-runners to look at and the source does not say what is kept at most
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
    best.reduce((sum, bySize) => {
      const values = bySize.map((value, i) => value - price / (i + 1))
      return sum + Math.max(...values)
    }, price * gpus)
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

/** What a workload keeps at most beside `coRunners` of the others. */
function maxKept(source: KeptShareSource, own: number, others: readonly number[], coRunners: number): number {
  if (coRunners === 0) return 1
  const all = coRunnerGroupsOf([...countByPlace(others)], coRunners, MAX_GROUPS_JUDGED)
  if (all === null) return source.maxKept?.(own, others, coRunners) ?? Infinity
  return all.reduce((most, some) => Math.max(most, source.keptShares([own, ...some])[0]!), 0)
}

/** Multisets of so many of the places; null where there are more than `most`. */
function coRunnerGroupsOf(
  counts: readonly (readonly [place: number, count: number])[],
  coRunners: number,
  most: number,
): number[][] | null {
  const found: number[][] = []
  const extend = (members: readonly number[], from: number): boolean => {
    if (members.length === coRunners) return found.push([...members]) <= most
    return counts.slice(from).every(([place, count], step) => {
      const taken = members.filter((member) => member === place).length
      return taken === count || extend([...members, place], from + step)
    })
  }
  return extend([], 0) ? found : null
}
