import { SeededRandom, shuffled, sum } from '@pctodl/numerics'
import type { GroupJudge } from './group-judge.js'

/** Number of random starts; the best result counts. */
const STARTS = 8

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
): (readonly number[])[] | null {
  const random = new SeededRandom(1)
  // A group that violates a limit counts with a loss larger than all possible gains, so the search removes violations
  // first.
  const penalty = -10 * sum(pool.map((place) => judge.weightOf(place)))
  const worthOf = (members: readonly number[]) => (members.length === 0 ? 0 : (judge.judge(members)?.value ?? penalty))
  let best: { readonly groups: number[][]; readonly value: number } | undefined
  for (let start = 0; start < STARTS; start++) {
    const groups = randomStart(pool, gpus, random)
    climb(groups, worthOf, maxMembers, random)
    const value = sum(groups.map(worthOf))
    if (!best || value > best.value) best = { groups, value }
  }
  const kept = best!.groups.filter((group) => group.length > 0)
  return kept.every((group) => judge.judge(group) !== null) ? kept : null
}

function randomStart(pool: readonly number[], gpus: number, random: SeededRandom): number[][] {
  const groups = Array.from({ length: gpus }, (): number[] => [])
  shuffled(pool, random).forEach((place, i) => {
    groups[i % gpus]!.push(place)
  })
  return groups
}

/** Try all swaps and moves between pairs of groups, in random order, until none improves the value. */
function climb(
  groups: number[][],
  worthOf: (members: readonly number[]) => number,
  maxMembers: number,
  random: SeededRandom,
): void {
  const values = groups.map(worthOf)
  const pairs = groups.flatMap((_, a) => groups.slice(a + 1).map((_, b) => [a, a + 1 + b] as const))
  for (let improved = true; improved; ) {
    improved = false
    for (const [a, b] of shuffled(pairs, random)) {
      const better = bestExchange(groups[a]!, groups[b]!, values[a]! + values[b]!, worthOf, maxMembers)
      if (!better) continue
      ;[groups[a], groups[b]] = better
      values[a] = worthOf(better[0])
      values[b] = worthOf(better[1])
      improved = true
    }
  }
}

/** The best swap of two jobs or move of one; undefined if none improves the value. */
function bestExchange(
  a: readonly number[],
  b: readonly number[],
  before: number,
  worthOf: (members: readonly number[]) => number,
  maxMembers: number,
): [number[], number[]] | undefined {
  let best: [number[], number[]] | undefined
  let bestValue = before + 1e-9 * Math.abs(before)
  const exchanged = (group: readonly number[], leaving: number, added: number | undefined) => [
    ...group.filter((_, rank) => rank !== leaving),
    ...(added === undefined ? [] : [added]),
  ]
  // A rank beyond the ends stands for no job. Then one job moves instead of a swap.
  for (let i = 0; i <= a.length; i++) {
    for (let j = -1; j < b.length; j++) {
      const [first, second] = [exchanged(a, i, b[j]), exchanged(b, j, a[i])]
      if (first.length > maxMembers || second.length > maxMembers) continue
      const value = worthOf(first) + worthOf(second)
      if (value <= bestValue) continue
      best = [first, second]
      bestValue = value
    }
  }
  return best
}
