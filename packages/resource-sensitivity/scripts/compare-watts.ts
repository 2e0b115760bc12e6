// Watts shared out by gain against the obvious: a type fixed for each job in turn, and the same watts for each GPU. Made-up traces on a made-up
// cluster of ten GPUs of two types: compare-watts.ts [traces] [jobs] [seconds between arrivals]. Prints means and extremes over the traces.
import { mean, median } from '@pctodl/numerics'
import {
  BudgetEngine,
  type BudgetScheduleResult,
  placeUnderBudget,
  type SimulateBudgetOptions,
  simulateUnderBudget,
} from '../src/index.js'
import { drawJobs, profiles, servers } from '../test/mixed-world.js'

const [traces = 20, count = 60, gapS = 60] = process.argv.slice(2).map(Number)
const types = servers.flatMap(({ count: many, gpus, gpuType }) => Array.from({ length: many * gpus }, () => gpuType))
const others: Record<string, Partial<SimulateBudgetOptions>> = {
  'types in turn, equal watts': { watts: 'equal', typeOf: ({ id }) => types[(id * 7) % types.length]! },
  'types in turn, watts by gain': { typeOf: ({ id }) => types[(id * 7) % types.length]! },
  'any type, equal watts': { watts: 'equal' },
}
for (const policy of ['fifo', 'srtf'] as const) {
  for (const powerBudgetW of [1500, 2000]) {
    const ratios = new Map(Object.keys(others).map((name) => [name, { time: [] as number[], energy: [] as number[] }]))
    let mostMs = 0
    for (let seed = 1; seed <= traces; seed++) {
      const jobs = drawJobs(count, gapS, seed)
      const ask = (change: Partial<SimulateBudgetOptions>): BudgetScheduleResult =>
        simulateUnderBudget({ servers, profiles, policy, powerBudgetW, jobs, roundS: 60, restartCostS: 5, ...change })
      const beganMs = performance.now()
      const ours = ask({})
      mostMs = Math.max(mostMs, performance.now() - beganMs)
      for (const [name, change] of Object.entries(others)) {
        const other = ask(change)
        ratios.get(name)!.time.push(other.meanCompletionS / ours.meanCompletionS)
        ratios.get(name)!.energy.push(other.energyJ / ours.energyJ)
      }
    }
    console.log(
      `${policy}, ${powerBudgetW} W, ${traces} traces of ${count} jobs (at most ${mostMs.toFixed(0)} ms each)`,
    )
    for (const [name, { time, energy }] of ratios) {
      const range = `${Math.min(...time).toFixed(2)} to ${Math.max(...time).toFixed(2)}`
      console.log(`  ${name}: mean completion ${mean(time).toFixed(2)}x (${range}), energy ${mean(energy).toFixed(2)}x`)
    }
  }
}

// All jobs there at once: what the engine seats against the best of all placements.
const parts: number[] = []
for (let seed = 0; seed < 9; seed++) {
  const jobs = drawJobs(4 + seed, 1, seed).map((job) => ({ ...job, arrivalS: 0 }))
  for (const powerBudgetW of [700, 1000, 1500, 2500]) {
    const engine = new BudgetEngine({ servers, profiles, powerBudgetW, policy: 'fifo' })
    const submitted = jobs.map((job) => ({ type: 'submitted', job }) as const)
    engine.plan(0, submitted)
    const running = [...engine.jobs.values()].filter(({ held }) => held !== null)
    const reached = running.reduce((sum, job) => sum + job.current.iterationsPerS / job.fastest, 0)
    parts.push((100 * reached) / (await placeUnderBudget({ servers, jobs, profiles, powerBudgetW })).bound)
  }
}
const [least, most] = [Math.min(...parts), Math.max(...parts)]
console.log(
  `all at once: ${least.toFixed(0)} to ${most.toFixed(0)} % of the optimum, median ${median(parts).toFixed(0)} %`,
)
