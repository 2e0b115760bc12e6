import type { GroupJudge } from './group-judge.js'

export interface CandidateGroup {
  /** Indices of the members, ascending. */
  readonly members: readonly number[]
  readonly value: number
}

/**
 * All groups of up to `maxMembers` jobs of a pool that meet the limits. Jobs of one workload are interchangeable, so
 * groups are multisets of workloads.
 *
 * @returns null where there are more than `most` multisets
 */
export function candidateGroups(
  judge: GroupJudge,
  pool: readonly number[],
  maxMembers: number,
  most: number,
): CandidateGroup[] | null {
  const counts = countByPlace(pool)
  const places = [...counts.keys()].sort((a, b) => a - b)
  if (countGroups([...counts.values()], maxMembers) > most) return null
  const groups: CandidateGroup[] = []
  const extend = (members: readonly number[], from: number): void => {
    for (let i = from; i < places.length; i++) {
      const place = places[i]!
      if (members.filter((member) => member === place).length === counts.get(place)) continue
      const grown = [...members, place]
      const judged = judge.judge(grown)
      if (judged) groups.push({ members: grown, value: judged.value })
      if (grown.length < maxMembers) extend(grown, i)
    }
  }
  extend([], 0)
  return groups
}

/**
 * Number of multisets of 1 to `maxMembers` jobs, from the coefficients of the product of 1 + x + ... + x^count over the
 * workloads.
 */
function countGroups(counts: readonly number[], maxMembers: number): number {
  let bySize = Float64Array.of(1, ...new Array<number>(maxMembers).fill(0))
  for (const count of counts) {
    bySize = bySize.map((_, size) => {
      let sum = 0
      for (let taken = 0; taken <= Math.min(count, size); taken++) sum += bySize[size - taken]!
      return sum
    })
  }
  return bySize.reduce((sum, groups) => sum + groups, -1)
}

export function countByPlace(pool: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const place of pool) counts.set(place, (counts.get(place) ?? 0) + 1)
  return counts
}
