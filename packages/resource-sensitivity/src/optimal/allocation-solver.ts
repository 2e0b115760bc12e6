import { PctodlError } from '@pctodl/platform'
import {
  type AllocationProblem,
  type AllocationSolution,
  type AllocationSolver,
  assertAllocationProblem,
  isFastEnough,
} from './allocation-problem.js'

/** Load HiGHS (WebAssembly, some 50 ms) as the solver of the `optimal` mechanism. */
export async function loadAllocationSolver(): Promise<AllocationSolver> {
  const { default: load } = await import('highs')
  const highs = await load()
  return {
    solve(problem, relaxed = false) {
      assertAllocationProblem(problem)
      if (problem.groups.length === 0) return { objective: 0, counts: [] }
      // The default gap of 1e-4 would accept a choice that is not the best.
      const solved = highs.solve(toLpText(problem, relaxed), { mip_rel_gap: 0, mip_abs_gap: 1e-9, output_flag: false })
      if (solved.Status !== 'Optimal') {
        throw new PctodlError(
          'NO_ALLOCATION',
          `no allocation keeps every job at its fair share (solver: ${solved.Status}); the options of every job must ` +
            'contain one within its fair share',
        )
      }
      return readSolution(problem, solved.Columns as Readonly<Record<string, { readonly Primal?: number }>>, relaxed)
    },
  }
}

/** The problem as an LP file. One term a line: HiGHS reads only short lines. */
function toLpText({ cpus, memoryGb, groups, weight }: AllocationProblem, relaxed: boolean): string {
  const objective: string[] = []
  const cpu: string[] = []
  const memory: string[] = []
  const choices: string[] = []
  const bounds: string[] = []
  const names: string[] = []
  groups.forEach(({ count, gpus, options, leastThroughput }, i) => {
    const choice: string[] = []
    const speed: string[] = []
    options.forEach((option, k) => {
      if (!relaxed && !isFastEnough(option.throughput, leastThroughput)) return
      const name = variable(i, k)
      speed.push(`+ ${option.throughput} ${name}`)
      objective.push(`+ ${option.throughput * (weight === 'gpu' ? gpus : 1)} ${name}`)
      cpu.push(`+ ${option.cpus * gpus} ${name}`)
      memory.push(`+ ${option.memoryGb * gpus} ${name}`)
      choice.push(`+ ${name}`)
      bounds.push(`0 <= ${name} <= ${count}`)
      names.push(name)
    })
    choices.push(` one${i}:\n${choice.join('\n')}\n = ${count}`)
    if (relaxed) choices.push(` fast${i}:\n${speed.join('\n')}\n >= ${leastThroughput * count}`)
  })
  return [
    'Maximize',
    ` throughput:\n${objective.join('\n')}`,
    'Subject To',
    ` cpus:\n${cpu.join('\n')}\n <= ${cpus}`,
    ` memory:\n${memory.join('\n')}\n <= ${memoryGb}`,
    ...choices,
    'Bounds',
    ...bounds,
    ...(relaxed ? [] : ['General', ...names]),
    'End',
    '',
  ].join('\n')
}

const variable = (group: number, option: number) => `y${group}_${option}`

function readSolution(
  { groups, weight }: AllocationProblem,
  columns: Readonly<Record<string, { readonly Primal?: number }>>,
  relaxed: boolean,
): AllocationSolution {
  let objective = 0
  const counts = groups.map(({ gpus, options }, i) =>
    options.map((option, k) => {
      const value = columns[variable(i, k)]?.Primal ?? 0
      const count = Math.max(0, relaxed ? value : Math.round(value))
      objective += count * option.throughput * (weight === 'gpu' ? gpus : 1)
      return count
    }),
  )
  return { objective, counts }
}
