import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { loadAllocationSolver, planNow } from '../src/index.js'
import { exampleProfiles, parseSynergyTables } from '../src/job-profile.js'
import type { AllocationProblem } from '../src/mechanisms/allocation-solver.js'
import { placementInstance } from './placement-instances.js'
import { published, publishedJson } from './published-files.js'

interface Instance {
  readonly seed: number
  readonly servers: number
  readonly jobs: readonly { readonly model: string; readonly gpus: number }[]
  readonly ilp_objective: number
}

describe('the optimum against published instances', async () => {
  const solver = await loadAllocationSolver()
  const profiles = parseSynergyTables(published('model_profiles.json'), 3)
  const instances: Instance[] = publishedJson('golden/opt_instances.json').instances

  const problemOf = ({ servers, jobs }: Instance): AllocationProblem => ({
    cpus: 24 * servers,
    memoryGb: 500 * servers,
    groups: jobs.map(({ model, gpus }) => {
      const { cpusPerGpu, memoryGbPerGpu, throughput } = profiles.find((profile) => profile.model === model)!
      const options = cpusPerGpu
        .flatMap((cpus, i) => memoryGbPerGpu.map((memoryGb, j) => ({ cpus, memoryGb, throughput: throughput[i]![j]! })))
        .filter((option) => option.throughput >= throughput[2]![1]!)
      return { count: 1, gpus, options }
    }),
  })

  it.each(instances)('instance $seed', (instance) => {
    expect(Math.abs(solver.solve(problemOf(instance)).objective - instance.ilp_objective)).toBeLessThan(1e-6)
  })

  it.each(instances)('instance $seed: tune reaches 99 % of it, on servers', ({ servers, jobs, ilp_objective }) => {
    const plan = planNow({
      cluster: { servers: [{ count: servers, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }] },
      jobs: jobs.map((job, id) => ({ ...job, id, arrivalS: 0, iterations: 1000 })),
      profiles,
      policy: 'fifo',
      mechanism: 'tune',
    })
    const value = plan.running.reduce((sum, { throughput }) => sum + throughput, 0)
    expect(plan.waiting).toEqual([])
    expect(value).toBeGreaterThanOrEqual(0.99 * ilp_objective)
    expect(value).toBeLessThanOrEqual(ilp_objective + 1e-6)
  })
})

describe('tune against the best seating of all', () => {
  const tables = parseSynergyTables(published('model_profiles.json'), 3)
  // By integer programs over servers, classes of jobs and options, solved to the end: scripts/placement-optima.ts.
  const optima: Readonly<Record<string, number>> = JSON.parse(
    readFileSync(new URL('golden/placement-optima.json', import.meta.url), 'utf8'),
  )

  it('reaches 99 % of it in each of 80 drawn instances', () => {
    const shares = Object.entries(optima).map(([seed, optimum]) => {
      const { cluster, jobs, profiles } = placementInstance(Number(seed), tables)
      const plan = planNow({ cluster, jobs, profiles, policy: 'fifo', mechanism: 'tune' })
      expect(plan.waiting).toEqual([])
      return { seed, share: plan.running.reduce((sum, { throughput }) => sum + throughput, 0) / optimum }
    })
    expect(shares.filter(({ share }) => !(share >= 0.99 && share <= 1 + 1e-6))).toEqual([])
  })
})

describe('the solver', async () => {
  const solver = await loadAllocationSolver()
  const options = [
    { cpus: 3, memoryGb: 50, throughput: 1 },
    { cpus: 6, memoryGb: 50, throughput: 1.8 },
    { cpus: 12, memoryGb: 50, throughput: 2.5 },
  ]

  it('groups jobs that are alike without changing the optimum', () => {
    const one = { gpus: 1, options }
    const apart = {
      cpus: 30,
      memoryGb: 400,
      groups: Array.from({ length: 6 }, () => ({ ...one, count: 1 })),
    } as const
    const grouped = { ...apart, groups: [{ ...one, count: 6 }] } as const
    expect(solver.solve(grouped).objective).toBeCloseTo(solver.solve(apart).objective, 9)
    expect(solver.solve(grouped).counts[0]!.reduce((sum, count) => sum + count)).toBe(6)
    // 30 cores: four jobs at 6 (24 cores, 7.2) and two at 3 (6 cores, 2).
    expect(solver.solve(grouped).objective).toBeCloseTo(9.2, 9)
  })

  it('refuses a cluster that cannot give a job its fair share', () => {
    const group = { count: 1, gpus: 1, options: options.slice(2) }
    expect(() => solver.solve({ cpus: 10, memoryGb: 100, groups: [group] })).toThrow(/no allocation keeps every job/)
  })

  it('is an upper bound for tune', () => {
    const cluster = { servers: [{ count: 2, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }] }
    const jobs = Array.from({ length: 12 }, (_, id) => ({
      id,
      model: exampleProfiles[id % exampleProfiles.length]!.model,
      gpus: id % 4 === 0 ? 2 : 1,
      arrivalS: 0,
      iterations: 100,
    }))
    const sum = (mechanism: 'fair' | 'tune' | 'optimal') =>
      planNow({ cluster, jobs, profiles: exampleProfiles, policy: 'fifo', mechanism, solver }).running.reduce(
        (total, { throughput }) => total + throughput,
        0,
      )
    expect(sum('tune')).toBeGreaterThan(sum('fair'))
    expect(sum('optimal')).toBeGreaterThanOrEqual(sum('tune') - 1e-9)
  })
})
