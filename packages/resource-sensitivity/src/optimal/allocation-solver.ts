import { PctodlError } from '@pctodl/platform'
import { type LinearConstraint, type LinearProgram, loadSolver, type Term, type Variable } from '@pctodl/solver'
import {
  type AllocationProblem,
  type AllocationSolution,
  type AllocationSolver,
  assertAllocationProblem,
  isFastEnough,
} from './allocation-problem.js'

/** Load the solver of the `optimal` mechanism. */
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

/** `places[i][k]` is the variable of option k of group i: how many of its jobs take it; absent where it is too slow. */
function programOf({ cpus, memoryGb, groups, weight }: AllocationProblem, relaxed: boolean) {
  const variables: Variable[] = []
  const cpu: Term[] = []
  const memory: Term[] = []
  const choices: LinearConstraint[] = []
  const places = groups.map(({ count, gpus, options, leastThroughput }) => {
    const choice: Term[] = []
    const speed: Term[] = []
    const ofGroup = options.map((option) => {
      if (!relaxed && !isFastEnough(option.throughput, leastThroughput)) return undefined
      const place = variables.length
      const objective = option.throughput * (weight === 'gpu' ? gpus : 1)
      variables.push({ objective, atMost: count, whole: !relaxed })
      cpu.push([place, option.cpus * gpus])
      memory.push([place, option.memoryGb * gpus])
      choice.push([place, 1])
      speed.push([place, option.throughput])
      return place
    })
    choices.push({ terms: choice, atLeast: count, atMost: count })
    if (relaxed) choices.push({ terms: speed, atLeast: leastThroughput * count })
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
  { groups, weight }: AllocationProblem,
  places: readonly (readonly (number | undefined)[])[],
  values: Float64Array,
): AllocationSolution {
  let objective = 0
  const counts = groups.map(({ gpus, options }, i) =>
    options.map((option, k) => {
      const place = places[i]![k]
      const count = place === undefined ? 0 : Math.max(0, values[place]!)
      objective += count * option.throughput * (weight === 'gpu' ? gpus : 1)
      return count
    }),
  )
  return { objective, counts }
}
