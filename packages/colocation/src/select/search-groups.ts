import { SeededRandom, shuffled, sum } from '@pctodl/numerics'
import type { GroupJudge } from './group-judge.js'

/** Number of random starts; the best result counts. */
const STARTS = 8

type Groups = readonly (readonly number[])[]

/**
 * Finds groups by local search from seeded random starts. It swaps two jobs of different groups, or moves one, while
 * that raises the value.
 *
 * @returns the members of each group; null if the best result violates the limits
 */
export function searchGroups(
  judge: GroupJudge,
  pool: readonly number[],
  maxMembers: number,
  gpus: number,
): Groups | null {
  const random = new SeededRandom(1)
  // A group that violates a limit counts with a loss larger than all possible gains, so the search removes violations
  // first.
  const penalty = -10 * sum(pool.map((place) => judge.weightOf(place)))
  const worthOf = (groups: Groups) =>
    sum(groups.map((members) => (members.length === 0 ? 0 : (judge.judge(members)?.value ?? penalty))))
  const found = Array.from({ length: STARTS }, () => {
    const jobs = shuffled(pool, random)
    const start = Array.from({ length: gpus }, (_, gpu) => jobs.filter((_job, i) => i % gpus === gpu))
    return climb(start, worthOf, maxMembers, random)
  })
  const best = found.reduce((one, other) => (worthOf(other) > worthOf(one) ? other : one))
  const groups = best.filter((group) => group.length > 0)
  return groups.every((group) => judge.judge(group) !== null) ? groups : null
}

/** Makes the best exchange of each pair of groups, in random order, until none raises the value. */
function climb(start: Groups, worthOf: (groups: Groups) => number, maxMembers: number, random: SeededRandom): Groups {
  const groups = [...start]
  const pairs = groups.flatMap((_, a) => groups.slice(a + 1).map((_, b) => [a, a + 1 + b] as const))
  for (let improved = true; improved; ) {
    improved = false
    for (const [a, b] of shuffled(pairs, random)) {
      const before = worthOf([groups[a]!, groups[b]!])
      let bestValue = before + 1e-9 * Math.abs(before)
      for (const [first, second] of exchanges(groups[a]!, groups[b]!)) {
        if (first.length > maxMembers || second.length > maxMembers) continue
        const value = worthOf([first, second])
        if (value <= bestValue) continue
        bestValue = value
        groups[a] = first
        groups[b] = second
        improved = true
      }
    }
  }
  return groups
}

/** All swaps of two jobs and moves of one. */
function* exchanges(a: readonly number[], b: readonly number[]) {
  const exchanged = (group: readonly number[], leaving: number, added: number | undefined) => [
    ...group.filter((_, rank) => rank !== leaving),
    ...(added === undefined ? [] : [added]),
  ]
  // A rank beyond the ends stands for no job. Then one job moves instead of a swap.
  for (let i = 0; i <= a.length; i++) {
    for (let j = -1; j < b.length; j++) yield [exchanged(a, i, b[j]), exchanged(b, j, a[i])] as const
  }
}
