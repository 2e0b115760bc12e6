import type { GroupJudge } from './group-judge.js'

/** Halvings of the interval in which the best price of a GPU is looked for. */
const STEPS = 60

/**
 * A value that no grouping exceeds. In a group of size s a job is worth at most what it is worth beside the s - 1 jobs that
 * hurt it least, b(s), and takes 1/s of a GPU. For any price p of a GPU, `p x gpus + sum over jobs of max over s of
 * (b(s) - p / s)` is a bound (Lagrangian relaxation of the number of GPUs); it is convex in p, and the least is taken.
 *
 * It holds where what a member keeps falls or stays when a member is replaced by one that hurts it more, as in a
 * `SlowdownTable`.
 */
export function upperBound(judge: GroupJudge, pool: readonly number[], maxMembers: number, gpus: number): number {
  const best = pool.map((_, job) => bestBySize(judge, pool, job, Math.min(maxMembers, pool.length)))
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

/** The most that a job can be worth in a group of 1, 2, ... members. */
function bestBySize(judge: GroupJudge, pool: readonly number[], job: number, maxMembers: number): number[] {
  const own = pool[job]!
  const { source } = judge
  const mildest = pool
    .filter((_, other) => other !== job)
    .map((place) => ({ place, kept: source.keptShares([own, place])[0]! }))
    .sort((a, b) => b.kept - a.kept)
    .map(({ place }) => place)
  return Array.from({ length: maxMembers }, (_, i) => {
    const kept = i === 0 ? 1 : source.keptShares([own, ...mildest.slice(0, i)])[0]!
    return judge.weightOf(own) * kept
  })
}
