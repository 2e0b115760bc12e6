import {
  type LinearConstraint,
  type LinearProgram,
  loadSolver,
  type Term,
  type Variable,
} from '@pctodl/numerics/programs'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { assertInteger, assertPositive } from '../checks.js'
import type { AllocationOption } from './allocation-options.js'

/** Identical jobs: same options, same number of GPUs. */
export interface JobGroup {
  readonly count: number
  readonly gpus: number
  readonly options: readonly AllocationOption[]
  /** Throughput with the fair share, which a job must reach; on average, if it mixes options. */
  readonly minThroughput: number
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

export interface AllocationSolution {
  readonly objective: number
  /** Number of jobs of group i that take option k. Integers, unless the relaxation was requested. */
  readonly counts: readonly (readonly number[])[]
}

/** Solves allocation problems; created by `loadAllocationSolver`. */
export interface AllocationSolver {
  /** @param relaxed let jobs mix fractions of options: the linear relaxation */
  solve(problem: AllocationProblem, relaxed?: boolean): AllocationSolution
}

export async function loadAllocationSolver(): Promise<AllocationSolver> {
  const solver = await loadSolver()
  return {
    solve(problem, relaxed = false) {
      assertAllocationProblem(problem)
      if (problem.groups.length === 0) return { objective: 0, counts: [] }
      const { program, places } = programOf(problem, relaxed)
      const { status, values } = solver.solve(program)
      if (values === null) {
        throw new PctodlError(
          'NO_ALLOCATION',
          `no allocation keeps every job at its fair share (solver: ${status}); the options of every job must ` +
            'contain one within its fair share',
        )
      }
      return solutionOf(problem, places, values)
    },
  }
}

/** `places[i][k]` is the variable that counts the jobs with option k of group i; absent if the option is too slow. */
function programOf({ cpus, memoryGb, groups }: AllocationProblem, relaxed: boolean) {
  const variables: Variable[] = []
  const cpu: Term[] = []
  const memory: Term[] = []
  const choices: LinearConstraint[] = []
  const places = groups.map(({ count, gpus, options, minThroughput }) => {
    const choice: Term[] = []
    const speed: Term[] = []
    const ofGroup = options.map((option) => {
      if (!relaxed && !isFastEnough(option.throughput, minThroughput)) return undefined
      const place = variables.length
      variables.push({ objective: option.throughput, atMost: count, whole: !relaxed })
      cpu.push([place, option.cpus * gpus])
      memory.push([place, option.memoryGb * gpus])
      choice.push([place, 1])
      speed.push([place, option.throughput])
      return place
    })
    choices.push({ terms: choice, atLeast: count, atMost: count })
    if (relaxed) choices.push({ terms: speed, atLeast: minThroughput * count })
    return ofGroup
  })
  const program: LinearProgram = {
    sense: 'maximize',
    variables,
    constraints: [{ terms: cpu, atMost: cpus }, { terms: memory, atMost: memoryGb }, ...choices],
  }
  return { program, places }
}

function solutionOf(
  { groups }: AllocationProblem,
  places: readonly (readonly (number | undefined)[])[],
  values: Float64Array,
): AllocationSolution {
  let objective = 0
  const counts = groups.map(({ options }, i) =>
    options.map((option, k) => {
      const place = places[i]![k]
      const count = place === undefined ? 0 : Math.max(0, values[place]!)
      objective += count * option.throughput
      return count
    }),
  )
  return { objective, counts }
}

/** @throws InvalidInputError */
function assertAllocationProblem({ cpus, memoryGb, groups }: AllocationProblem): void {
  assertPositive('problem.cpus', cpus)
  assertPositive('problem.memoryGb', memoryGb)
  groups.forEach(({ count, gpus, options, minThroughput }, i) => {
    assertInteger(`problem.groups[${i}].count`, count)
    assertInteger(`problem.groups[${i}].gpus`, gpus)
    if (!options.some(({ throughput }) => isFastEnough(throughput, minThroughput))) {
      throw new InvalidInputError(
        `problem.groups[${i}].options`,
        options.map(({ throughput }) => throughput).join(', ') || 'none',
        `at least one of throughput ${minThroughput}`,
      )
    }
  })
}

/** Adds a rounding tolerance. */
function isFastEnough(throughput: number, least: number): boolean {
  return throughput >= least * (1 - 1e-9)
}
