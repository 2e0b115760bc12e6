import { SeededRandom } from '@pctodl/numerics'
import { type LinearConstraint, loadSolver, type Term, type Variable } from '@pctodl/numerics/programs'
import { describe, expect, it } from 'vitest'
import { planNow, ScheduleEngine, simulate } from '../src/index.js'
import type { SimulationOptions } from '../src/simulate.js'
import { cluster, drawJobs, profiles } from './unequal-gpus.js'

const rules = { cluster, profiles, policy: 'srtf', mechanism: 'tune' } as const
const kinds = cluster.servers.flatMap((kind) => Array.from({ length: kind.count }, () => kind))
const idleW = kinds.reduce((sum, { gpus, idlePowerW }) => sum + gpus * idlePowerW!, 0)

/** The largest sum of throughputs of jobs that are each whole on one server, by an integer program over servers, shares and limits. */
async function optimum(jobs: readonly { readonly model: string; readonly gpus: number }[], powerBudgetW: number) {
  const variables: Variable[] = []
  const constraints: LinearConstraint[] = []
  const power: Term[] = []
  const uses = kinds.map(() => ({ gpus: [] as Term[], cpus: [] as Term[], memoryGb: [] as Term[] }))
  for (const { model, gpus } of jobs) {
    const profile = profiles.find((each) => each.model === model)!
    const choice: Term[] = []
    kinds.forEach(({ gpuType }, server) => {
      for (const point of profile.gpus!.filter((each) => each.gpuType === gpuType)) {
        profile.cpusPerGpu.forEach((cpus, i) => {
          profile.memoryGbPerGpu.forEach((memoryGb, j) => {
            const place = variables.length
            variables.push({ objective: point.throughput[i]![j]!, atMost: 1, whole: true })
            choice.push([place, 1])
            uses[server]!.gpus.push([place, gpus])
            uses[server]!.cpus.push([place, gpus * cpus])
            uses[server]!.memoryGb.push([place, gpus * memoryGb])
            power.push([place, gpus * point.dynamicPowerW])
          })
        })
      }
    })
    constraints.push({ terms: choice, atMost: 1, atLeast: 1 })
  }
  uses.forEach((use, server) => {
    for (const of of ['gpus', 'cpus', 'memoryGb'] as const)
      constraints.push({ terms: use[of], atMost: kinds[server]![of] })
  })
  constraints.push({ terms: power, atMost: powerBudgetW - idleW })
  const { values } = (await loadSolver()).solve(
    { sense: 'maximize', variables, constraints },
    { maxIterations: 200_000 },
  )
  return values && variables.reduce((sum, { objective }, v) => sum + objective! * values[v]!, 0)
}

describe('watts', () => {
  it('are within the budget at every moment of a schedule, and every job ends', () => {
    for (const [seed, mechanism] of [
      [3, 'tune'],
      [4, 'fair'],
      [5, 'tune'],
    ] as const) {
      const incidents = [1000, 3000].map((atS, i) => {
        const powerBudgetW = [700, 2200][i]!
        return { atS, event: { type: 'budget', powerBudgetW, fromS: atS + 60 } as const }
      })
      const options: SimulationOptions = {
        ...rules,
        mechanism,
        jobs: drawJobs(60, 60, seed),
        incidents,
        powerBudgetW: 1500,
      }
      const { jobs, power, energyJ } = simulate({ ...options, budgetLeadS: 30, stopS: 20 })
      expect(jobs).toHaveLength(60)
      for (const { powerW, powerBudgetW } of power!) expect(powerW).toBeLessThanOrEqual(powerBudgetW + 1e-6)
      const byTimeline = power!
        .slice(1)
        .reduce((sum, { fromS }, i) => sum + (fromS - power![i]!.fromS) * power![i]!.powerW, 0)
      expect(energyJ! / byTimeline).toBeCloseTo(1, 6)
    }
  })

  it('are within the budget where limits are fixed and jobs make room for one that would be spread', () => {
    const fixed = { limitsChange: false, spreadPenalty: 1.3, restartCostS: 20, stopS: 20 }
    for (const [policy, seed, powerBudgetW] of [
      ['fifo', 660_105, 1300],
      ['las', 660_103, 800],
    ] as const) {
      const { jobs, power } = simulate({ ...rules, ...fixed, policy, jobs: drawJobs(40, 60, seed), powerBudgetW })
      expect(jobs).toHaveLength(40)
      for (const { powerW } of power!) expect(powerW).toBeLessThanOrEqual(powerBudgetW + 1e-6)
    }
  })

  it('go where they gain most: the sum of throughputs is near the optimum of an integer program', async () => {
    const random = new SeededRandom(780_001)
    const ratios: number[] = []
    for (let draw = 0; draw < 26; draw++) {
      const jobs = drawJobs(3 + Math.floor(4 * random.uniform()), 0, 781_000 + draw).map((job) => ({
        ...job,
        gpus: Math.min(job.gpus, 2),
      }))
      const powerBudgetW = 1000 + 900 * random.uniform()
      const plan = planNow({ ...rules, jobs, powerBudgetW })
      const best = await optimum(jobs, powerBudgetW)
      if (best === null || plan.waiting.length > 0) continue
      ratios.push(plan.running.reduce((sum, { throughput }) => sum + throughput, 0) / best)
    }
    expect(ratios.length).toBeGreaterThanOrEqual(20)
    expect(Math.min(...ratios)).toBeGreaterThan(0.99)
  })

  it('go to two small jobs on several slow servers where a large one would keep their fast GPUs', async () => {
    const [hungry, light, pair] = [
      { model: 'hungry', gpus: 1 },
      { model: 'light', gpus: 1 },
      { model: 'light', gpus: 2 },
    ]
    const jobs = [hungry, pair, light, hungry, pair, light].map((job, id) => ({
      ...{ ...job, id, arrivalS: 0, iterations: 1000 },
    }))
    const plan = planNow({ ...rules, policy: 'fifo', jobs, powerBudgetW: 1760 })
    const sum = plan.running.reduce((total, { throughput }) => total + throughput, 0)
    expect(sum / (await optimum(jobs, 1760))!).toBeCloseTo(1, 6)
  })

  it('leave each server the account of the cores that its jobs hold, after several prices of a watt', () => {
    const engine = new ScheduleEngine({ ...rules, policy: 'las', powerBudgetW: 2000, spreadPenalty: 1.3 })
    for (const job of drawJobs(14, 60, 555)) {
      const gpus = job.id % 4 === 0 ? 4 : job.gpus
      engine.plan(job.arrivalS, [{ type: 'submitted', job: { ...job, gpus } }])
      const { pool, loads } = engine.running
      const held = pool.residents.map((jobs, server) =>
        jobs.reduce((sum, each) => sum + each.share.cpus * pool.gpusOn(each, server), 0),
      )
      loads.forEach(({ heldCpus }, server) => void expect(heldCpus).toBeCloseTo(held[server]!, 6))
    }
  })

  const point = (gpuType: string, watts: number) => ({
    ...{ gpuType, powerLimitW: watts, throughput: [[1]], dynamicPowerW: watts },
  })
  const plain = {
    ...{ ...profiles[0]!, model: 'plain', cpusPerGpu: [1], memoryGbPerGpu: [1], throughput: [[1]] },
    ...{ demand: { cpus: 1, memoryGb: 1 }, gpus: [point('thin', 100), point('wide', 300)] },
  }
  const kind = { count: 1, gpus: 2, cpus: 8, memoryGb: 8, storageMBps: 1 }
  const unsorted = {
    servers: [
      { ...kind, gpuType: 'wide' },
      { ...kind, gpuType: 'thin' },
    ],
  }

  const thinFirst = { servers: unsorted.servers.toReversed() }

  it('give each seat of a job on two types of GPUs the limit of its own type, in whatever order the types are listed', () => {
    const jobs = [{ id: 0, model: 'plain', gpus: 4, arrivalS: 0, iterations: 10 }]
    const plan = planNow({ ...rules, cluster: unsorted, profiles: [plain], jobs, powerBudgetW: 5000 })
    expect(plan.running[0]!.placement.map(({ server }) => server)).toEqual([0, 1])
    expect(plan.running[0]!.powerLimitsW).toEqual([300, 100])
  })

  it.each(['fair', 'tune'] as const)('let a job start on the GPUs that they suffice for (%s)', (mechanism) => {
    const servers = unsorted.servers.map((each) => ({ ...each, cpus: each.gpuType === 'wide' ? 16 : 8 }))
    const jobs = [{ id: 0, model: 'plain', gpus: 2, arrivalS: 0, iterations: 10 }]
    const given = { ...rules, mechanism, cluster: { servers }, profiles: [plain], jobs }
    expect(planNow({ ...given, powerBudgetW: 250 }).running[0]!.placement).toEqual([{ server: 1, gpus: 2 }])
    expect(planNow({ ...given, powerBudgetW: 650 }).running[0]!.placement).toEqual([{ server: 0, gpus: 2 }])
  })

  it('leave no job waiting forever if each could run alone', () => {
    const moving = { spreadPenalty: 1.3, restartCostS: 20 }
    for (const [policy, seed, powerBudgetW] of [
      ['srtf', 99_101, 560],
      ['las', 99_110, 500],
      ['fifo', 99_120, 500],
    ] as const) {
      expect(simulate({ ...rules, ...moving, policy, jobs: drawJobs(40, 40, seed), powerBudgetW }).jobs).toHaveLength(
        40,
      )
    }
  })

  it('leave the account of a job as it was where a seat is taken back for want of watts', () => {
    const cluster = { servers: thinFirst.servers.map((each) => ({ ...each, gpus: 1 })) }
    const engine = new ScheduleEngine({ ...rules, cluster, profiles: [plain], powerBudgetW: 5000 })
    const job = { id: 7, model: 'plain', gpus: 1, arrivalS: 0, iterations: 1000 }
    expect(engine.plan(0, [{ type: 'submitted', job }])).toMatchObject([{ type: 'place', placement: [{ server: 0 }] }])
    engine.plan(100, [{ type: 'budget', powerBudgetW: 50 }])
    engine.plan(110, [{ type: 'left', jobId: 7, run: 1 }])
    // Only the wide GPU is left, and needs 300 W.
    engine.plan(200, [
      { type: 'server-failed', server: 0 },
      { type: 'budget', powerBudgetW: 250 },
    ])
    expect(engine.current().waiting).toEqual([7])
    expect(engine.running.find(7)).toMatchObject({ lastRunS: 100, restarts: 0, attainedGpuS: 100 })
  })

  const thin = { servers: [{ ...kind, gpus: 4, gpuType: 'thin' }] }
  const seconds = { ...plain, iterationS: 1 }
  const plainJob = (id: number, gpus: number, arrivalS: number, iterations = 100) => ({
    ...{ id, model: 'plain', gpus, arrivalS, iterations },
  })
  const onThin = { ...rules, policy: 'fifo', cluster: thin, profiles: [seconds] } as const

  it('that do not suffice for a job go to a later one at once, whatever the reason that there are some', () => {
    const [first, large, small] = [plainJob(0, 1, 0), plainJob(1, 4, 10), plainJob(2, 1, 20)]
    const event = { type: 'budget', powerBudgetW: 1000 } as const
    const incidents = [{ atS: 5000, event }]
    const result = simulate({ ...onThin, jobs: [first, large, small], powerBudgetW: 150, incidents })
    expect(result.jobs.map(({ firstStartS }) => firstStartS)).toEqual([0, 5000, 100])
    const engine = new ScheduleEngine({ ...onThin, powerBudgetW: 0 })
    engine.plan(
      20,
      [large, small].map((job) => ({ type: 'submitted', job })),
    )
    engine.plan(30, [{ ...event, powerBudgetW: 150, fromS: 100 }])
    expect(engine.wakeAtS).toBe(100)
    expect(engine.plan(100, [])).toMatchObject([{ type: 'place', jobId: 2 }])
  })

  it('that never suffice for the seats that are left end a schedule with an error', () => {
    const cluster = { servers: unsorted.servers.map((each) => ({ ...each, gpus: 1 })) }
    const incidents = [{ atS: 0, event: { type: 'server-failed', server: 1 } as const }]
    const schedule = { ...rules, cluster, profiles: [plain], jobs: [plainJob(0, 1, 0)], powerBudgetW: 150, incidents }
    expect(() => simulate(schedule)).toThrow(/never return while jobs 0/)
  })

  it('that a job would need on the only free seats stop no other job for it, in any round', () => {
    for (const mechanism of ['fair', 'tune'] as const) {
      const options = { ...rules, mechanism, cluster: unsorted, profiles: [seconds], powerBudgetW: 300 }
      const engine = new ScheduleEngine(options)
      const running = [plainJob(1, 1, 0, 5000), plainJob(2, 1, 0, 6000)]
      engine.plan(0, [
        { type: 'server-draining', server: 0 },
        ...running.map((job) => ({ type: 'submitted', job }) as const),
      ])
      engine.plan(5, [{ type: 'server-returned', server: 0 }])
      expect(engine.current().running).toMatchObject(
        running.map(({ id }) => ({ jobId: id, placement: [{ server: 1 }] })),
      )
      // It comes first by its policy, and 200 W would do on the thin GPUs. Only the wide ones are free.
      expect(engine.plan(10, [{ type: 'submitted', job: plainJob(3, 2, 10) }])).toEqual([])
      for (const timeS of [300, 600, 900]) expect(engine.plan(timeS, [])).toEqual([])
      expect(engine.running.find(2)).toMatchObject({ restarts: 0, attainedGpuS: 900, waitedS: 0, savedRemaining: 6000 })
    }
  })

  it('count no service for a job that has its seat and waits for them', () => {
    const engine = new ScheduleEngine({ ...onThin, policy: 'srtf', powerBudgetW: 400 })
    engine.plan(0, [{ type: 'submitted', job: plainJob(1, 4, 0, 1e4) }])
    engine.plan(50, [{ type: 'submitted', job: plainJob(2, 4, 50) }])
    expect(engine.plan(300, [])).toMatchObject([{ type: 'preempt', jobId: 1 }])
    expect(engine.plan(340, [{ type: 'left', jobId: 1, run: 1 }])).toMatchObject([{ type: 'place', jobId: 2 }])
    expect(engine.running.find(2)).toMatchObject({ attainedGpuS: 0, waitedS: 290, firstStartS: 340 })
  })

  it('of a running job stay as they are where limits cannot change', () => {
    const points = [point('thin', 100), { ...point('thin', 200), throughput: [[1.5]] }]
    const runningWith = (limitsChange: boolean) => {
      const given = { ...onThin, profiles: [{ ...seconds, gpus: points }], limitsChange, powerBudgetW: 400 }
      const engine = new ScheduleEngine(given)
      engine.plan(0, [{ type: 'submitted', job: plainJob(0, 4, 0) }])
      engine.plan(10, [{ type: 'budget', powerBudgetW: 800 }])
      return engine.current().running
    }
    expect(runningWith(false)).toMatchObject([{ powerLimitsW: [100], throughput: 1 }])
    expect(runningWith(true)).toMatchObject([{ powerLimitsW: [200], throughput: 1.5 }])
  })

  it('need types of GPUs, points of each, and a mechanism that knows them', () => {
    const jobs = drawJobs(1, 0, 1)
    const plain = { servers: [{ ...cluster.servers[0]! }].map(({ gpuType: _, ...kind }) => kind) }
    expect(() => planNow({ ...rules, cluster: plain, jobs, powerBudgetW: 900 })).toThrow(
      /powerBudgetW: got 900, expected a cluster/,
    )
    expect(() => planNow({ ...rules, jobs, powerBudgetW: 10 })).toThrow(/powerBudgetW: got 10, expected at least 290 W/)
    expect(() => planNow({ ...rules, jobs, mechanism: 'greedy' })).toThrow(/expected fair or tune/)
    const one = profiles.map((profile) => ({ ...profile, gpus: profile.gpus!.slice(0, 1) }))
    expect(() => planNow({ ...rules, profiles: one, jobs })).toThrow(/dense\.gpus: got 'none for thrifty'/)
  })
})
