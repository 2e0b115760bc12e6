import type { GroupJudge } from './group-judge.js'

export interface CandidateGroup {
  /** Places of the members, ascending. */
  readonly members: readonly number[]
  readonly value: number
}

/**
 * All groups of up to `maxMembers` jobs of a pool that keep the limits. Jobs of one workload are alike, so groups are
 * multisets of workloads.
 *
 * @returns null where there are more than `most` multisets to look at
 */
export function candidateGroups(
  judge: GroupJudge,
  pool: readonly number[],
  maxMembers: number,
  most: number,
): CandidateGroup[] | null {
  const counts = countByPlace(pool)
  const places = [...counts.keys()].sort((a, b) => a - b)
  const groups: CandidateGroup[] = []
  let looked = 0
  const extend = (members: readonly number[], from: number): boolean => {
    for (let i = from; i < places.length; i++) {
      const place = places[i]!
      if (members.filter((member) => member === place).length === counts.get(place)) continue
      if (++looked > most) return false
      const grown = [...members, place]
      const judged = judge.judge(grown)
      if (judged) groups.push({ members: grown, value: judged.value })
      if (grown.length < maxMembers && !extend(grown, i)) return false
    }
    return true
  }
  return extend([], 0) ? groups : null
}

export function countByPlace(pool: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const place of pool) counts.set(place, (counts.get(place) ?? 0) + 1)
  return counts
}
