import { loadSolver, type Term } from '@pctodl/numerics/programs'
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
 * @returns null if there are more than `most` multisets
 */
export function candidateGroups(
  judge: GroupJudge,
  pool: readonly number[],
  maxMembers: number,
  most: number,
): CandidateGroup[] | null {
  const all = multisetsOf(countByPlace([...pool].sort((a, b) => a - b)), 1, maxMembers, most)
  if (all === null) return null
  return all.flatMap((members) => {
    const judged = judge.judge(members)
    return judged ? [{ members, value: judged.value }] : []
  })
}

/**
 * All multisets of these sizes, in the order of the counts; null if there are more than `most`.
 *
 * @param fits whether a multiset counts; if not, none that contains it counts either
 */
export function multisetsOf(
  counts: ReadonlyMap<number, number>,
  minSize: number,
  maxSize: number,
  most: number,
  fits: (members: readonly number[]) => boolean = () => true,
): number[][] | null {
  const entries = [...counts]
  const found: number[][] = []
  const extend = (members: number[], from: number): boolean => {
    if (!fits(members)) return true
    if (members.length >= minSize && found.push(members) > most) return false
    if (members.length === maxSize) return true
    return entries.slice(from).every(([place, count], step) => {
      const taken = members.filter((member) => member === place).length
      return taken === count || extend([...members, place], from + step)
    })
  }
  return extend([], 0) ? found : null
}

/**
 * Chooses the best groups such that each job is placed once, on at most `gpus` GPUs: set partitioning, solved exactly.
 *
 * @returns the members of each group; null if there is no solution
 */
export async function solveGroups(
  candidates: readonly CandidateGroup[],
  pool: readonly number[],
  gpus: number,
): Promise<(readonly number[])[] | null> {
  const terms = (place: number) =>
    candidates.flatMap(({ members }, i): Term[] => {
      const times = members.filter((member) => member === place).length
      return times === 0 ? [] : [[i, times]]
    })
  const solver = await loadSolver()
  const { values } = solver.solve({
    sense: 'maximize',
    variables: candidates.map(({ value }) => ({ objective: value, whole: true })),
    constraints: [
      ...[...countByPlace(pool)].map(([place, count]) => ({ terms: terms(place), atLeast: count, atMost: count })),
      { terms: candidates.map((_, i): Term => [i, 1]), atMost: gpus },
    ],
  })
  return values && candidates.flatMap(({ members }, i) => Array.from({ length: values[i]! }, () => members))
}

export function countByPlace(pool: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const place of pool) counts.set(place, (counts.get(place) ?? 0) + 1)
  return counts
}
