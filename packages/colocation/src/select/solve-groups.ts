import { type LinearProgram, loadSolver, type Term } from '@pctodl/solver'
import { type CandidateGroup, countByPlace } from './candidate-groups.js'

/**
 * Best choice of groups that places each job once on at most `gpus` GPUs: set partitioning as an integer program,
 * solved to optimality.
 *
 * @returns the members of each group; null where there is no solution
 */
export async function solveGroups(
  candidates: readonly CandidateGroup[],
  pool: readonly number[],
  gpus: number,
): Promise<(readonly number[])[] | null> {
  const counts = countByPlace(pool)
  const covered = new Set(candidates.flatMap(({ members }) => members))
  if ([...counts.keys()].some((place) => !covered.has(place))) return null
  const solver = await loadSolver()
  const { values } = solver.solve(partitionProgram(candidates, counts, gpus))
  if (values === null) return null
  return candidates.flatMap(({ members }, i) => Array.from({ length: values[i]! }, () => members))
}

/** One variable for each candidate: the number of GPUs that run it. */
function partitionProgram(
  candidates: readonly CandidateGroup[],
  counts: ReadonlyMap<number, number>,
  gpus: number,
): LinearProgram {
  const uses = new Map([...counts.keys()].map((place) => [place, [] as Term[]]))
  candidates.forEach(({ members }, i) => {
    for (const [place, times] of countByPlace(members)) uses.get(place)!.push([i, times])
  })
  return {
    sense: 'maximize',
    variables: candidates.map(({ value }) => ({ objective: value, whole: true })),
    constraints: [
      ...[...counts].map(([place, count]) => ({ terms: uses.get(place)!, atLeast: count, atMost: count })),
      { terms: candidates.map((_, i): Term => [i, 1]), atMost: gpus },
    ],
  }
}
