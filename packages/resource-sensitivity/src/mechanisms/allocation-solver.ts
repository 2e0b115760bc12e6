import {
  type LinearConstraint,
  type LinearProgram,
  loadSolver,
  type Term,
  type Variable,
} from '@pctodl/numerics/programs'
import { PctodlError } from '@pctodl/platform'
import type { AllocationOption } from './allocation.js'

/** Identical jobs: same options, same number of GPUs. */
export interface JobGroup {
  readonly count: number
  readonly gpus: number
  /** None slower than the fair share (see `allocationOptions`). */
  readonly options: readonly AllocationOption[]
}

/**
 * Choose one option per job to maximize the sum of throughputs (per GPU of each job) within the cluster's CPU and
 * memory: a multiple-choice knapsack with two capacities. CPU and memory are pooled over the servers, so the value is
 * an upper bound for any placement.
 */
export interface AllocationProblem {
  readonly cpus: number
  readonly memoryGb: number
  readonly groups: readonly JobGroup[]
}

/** Solves allocation problems; created by `loadAllocationSolver`. */
export interface AllocationSolver {
  /** @returns the number of jobs of group i that take option k in `counts[i][k]` */
  solve(problem: AllocationProblem): { readonly objective: number; readonly counts: readonly (readonly number[])[] }
}

export async function loadAllocationSolver(): Promise<AllocationSolver> {
  const solver = await loadSolver()
  return {
    solve(problem) {
      if (problem.groups.length === 0) return { objective: 0, counts: [] }
      const { status, values } = solver.solve(programOf(problem))
      if (values === null) {
        const why = `no allocation keeps every job at its fair share (solver: ${status})`
        throw new PctodlError(
          'NO_ALLOCATION',
          `${why}; the options of every job must contain one within its fair share`,
        )
      }
      let objective = 0
      let next = 0
      const counts = problem.groups.map(({ options }) =>
        options.map(({ throughput }) => {
          const count = Math.max(0, values[next++]!)
          objective += count * throughput
          return count
        }),
      )
      return { objective, counts }
    },
  }
}

/** The variables are the numbers of jobs that take each option of each group, in this order. */
function programOf({ cpus, memoryGb, groups }: AllocationProblem): LinearProgram {
  const variables: Variable[] = []
  const cpu: Term[] = []
  const memory: Term[] = []
  const choices: LinearConstraint[] = []
  for (const { count, gpus, options } of groups) {
    const choice: Term[] = []
    for (const { cpus, memoryGb, throughput } of options) {
      const place = variables.length
      variables.push({ objective: throughput, atMost: count, whole: true })
      cpu.push([place, cpus * gpus])
      memory.push([place, memoryGb * gpus])
      choice.push([place, 1])
    }
    choices.push({ terms: choice, atLeast: count, atMost: count })
  }
  const constraints = [{ terms: cpu, atMost: cpus }, { terms: memory, atMost: memoryGb }, ...choices]
  return { sense: 'maximize', variables, constraints }
}
