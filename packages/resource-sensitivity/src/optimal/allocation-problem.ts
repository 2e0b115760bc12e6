import { InvalidInputError } from '@pctodl/platform'
import type { AllocationOption } from '../engine/allocation-options.js'

/** `job` counts the throughput of one GPU of each job (upstream's objective), `gpu` that of all its GPUs. */
export type AllocationWeight = 'job' | 'gpu'

/** Jobs that are alike: same options, same number of GPUs. */
export interface JobGroup {
  readonly count: number
  readonly gpus: number
  readonly options: readonly AllocationOption[]
  /** No job may run slower: its throughput with the fair share. A job that takes parts of options keeps it on average. */
  readonly leastThroughput: number
}

/**
 * Choose one option for every job so that the sum of throughputs is largest and the cluster's CPU and memory suffice: a
 * multiple-choice knapsack with two capacities. CPU and memory are pooled over the servers, so its value is an upper bound
 * on what any placement can reach.
 */
export interface AllocationProblem {
  readonly cpus: number
  readonly memoryGb: number
  readonly groups: readonly JobGroup[]
  readonly weight: AllocationWeight
}

export interface AllocationSolution {
  readonly objective: number
  /** How many jobs of group i take option k. Whole numbers, unless the relaxation was asked for. */
  readonly counts: readonly (readonly number[])[]
}

/** Solves allocation problems; `loadAllocationSolver` makes one. */
export interface AllocationSolver {
  /** @param relaxed let jobs take parts of options: the linear program above the integer one */
  solve(problem: AllocationProblem, relaxed?: boolean): AllocationSolution
}

/** @throws InvalidInputError */
export function assertAllocationProblem({ cpus, memoryGb, groups }: AllocationProblem): void {
  if (!(cpus > 0)) throw new InvalidInputError('problem.cpus', cpus, 'a positive number')
  if (!(memoryGb > 0)) throw new InvalidInputError('problem.memoryGb', memoryGb, 'a positive number')
  groups.forEach(({ count, gpus, options, leastThroughput }, i) => {
    if (!(Number.isInteger(count) && count >= 1)) {
      throw new InvalidInputError(`problem.groups[${i}].count`, count, 'an integer of at least 1')
    }
    if (!(Number.isInteger(gpus) && gpus >= 1)) {
      throw new InvalidInputError(`problem.groups[${i}].gpus`, gpus, 'an integer of at least 1')
    }
    if (!options.some(({ throughput }) => isFastEnough(throughput, leastThroughput))) {
      throw new InvalidInputError(
        `problem.groups[${i}].options`,
        options.map(({ throughput }) => throughput).join(', ') || 'none',
        `at least one of throughput ${leastThroughput}`,
      )
    }
  })
}

/** With room for rounding. */
export function isFastEnough(throughput: number, least: number): boolean {
  return throughput >= least * (1 - 1e-9)
}
