import { loadSolver, type Term } from '@pctodl/numerics/programs'

export interface Job {
  readonly worth: number
  readonly gib: number
}

/** Selects the jobs of the highest total worth that fit into a board's memory. No selection can exceed `bound`. */
export async function jobsThatFit(jobs: readonly Job[], boardGib: number): Promise<{ chosen: Job[]; bound: number }> {
  const solver = await loadSolver()
  const { values, bound } = solver.solve(
    {
      sense: 'maximize',
      variables: jobs.map(({ worth }) => ({ objective: worth, atMost: 1, whole: true })),
      constraints: [{ terms: jobs.map(({ gib }, i): Term => [i, gib]), atMost: boardGib }],
    },
    { maxIterations: 10_000 },
  )
  return { chosen: jobs.filter((_, i) => values?.[i] === 1), bound }
}
