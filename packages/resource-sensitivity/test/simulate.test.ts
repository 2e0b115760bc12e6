import { describe, expect, it } from 'vitest'
import { type MechanismName, policyNames } from '../src/engine/scheduling-options.js'
import { generateTrace, ImpossibleJobError, parseReplayCsv, planNow, simulate, summarize } from '../src/index.js'
import { type JobProfile, parseSynergyTables, profileJob, profileOfMatrix } from '../src/job-profile.js'
import type { SimulationOptions } from '../src/simulate.js'
import { published } from './published-files.js'

/** Wants 8 cores a GPU: half speed with 4. */
const hungry: JobProfile = {
  model: 'hungry',
  modelClass: 'image',
  cpusPerGpu: [2, 4, 8],
  memoryGbPerGpu: [20],
  throughput: [[0.5], [1], [2]],
  iterationS: 1,
  demand: { cpus: 8, memoryGb: 20 },
  speedupAtDemand: 2,
  spreadPenalty: 1.5,
}

/** Content with 1 core. */
const modest: JobProfile = {
  ...hungry,
  model: 'modest',
  modelClass: 'language',
  cpusPerGpu: [1, 8],
  throughput: [[1], [1]],
  demand: { cpus: 1, memoryGb: 20 },
  speedupAtDemand: 1,
}

const server = { count: 1, gpus: 4, cpus: 16, memoryGb: 400, storageMBps: 500 }
const base = {
  cluster: { servers: [server] },
  profiles: [hungry, modest],
  policy: 'fifo',
  mechanism: 'fair',
} as const satisfies Omit<SimulationOptions, 'jobs'>
const job = (id: number, model: string, arrivalS: number, iterations: number, gpus = 1) => ({
  id,
  model,
  arrivalS,
  iterations,
  gpus,
})
const finishes = (options: SimulationOptions) => simulate(options).jobs.map(({ finishS }) => finishS)

describe('simulate', () => {
  it('starts an arriving job at once and gives away at once what a finishing one frees', () => {
    const jobs = [job(0, 'modest', 10, 100, 4), job(1, 'modest', 20, 50, 4), job(2, 'modest', 500, 10)]
    expect(finishes({ ...base, jobs })).toEqual([110, 160, 510])
  })

  it('finds for tune what fair leaves unused, down to the second', () => {
    const jobs = [
      job(0, 'hungry', 0, 100),
      job(1, 'modest', 0, 100),
      job(2, 'modest', 0, 100),
      job(3, 'modest', 0, 100),
    ]
    expect(finishes({ ...base, jobs })).toEqual([100, 100, 100, 100])
    expect(finishes({ ...base, jobs, mechanism: 'tune' })).toEqual([50, 100, 100, 100])
  })

  it('lets greedy wait for its whole demand while GPUs are idle, and tune not', () => {
    const jobs = [job(0, 'hungry', 0, 100), job(1, 'hungry', 0, 100), job(2, 'hungry', 0, 100)]
    expect(finishes({ ...base, jobs, mechanism: 'greedy' })).toEqual([50, 50, 100])
    // Two at 2 x, one at its fair share: 16 cores are 8 + 4 + 4, and 8 + 8 when one is done.
    const tuned = simulate({ ...base, jobs, mechanism: 'tune' })
    expect(tuned.jobs.map(({ finishS }) => finishS)).toEqual([50, 75, 75])
    expect(tuned.idleWhileWaiting).toBe(0)
  })

  it('preempts by policy only at rounds, and counts the cost of going on', () => {
    const jobs = [job(0, 'modest', 0, 1000, 4), job(1, 'modest', 100, 60, 4)]
    const run = (restartCostS: number) => simulate({ ...base, jobs, policy: 'srtf', restartCostS })
    expect(run(0).jobs.map(({ finishS }) => finishS)).toEqual([1060, 360])
    expect(run(0).jobs[0]).toMatchObject({ restarts: 1, waitedS: 60 })
    expect(run(30).jobs.map(({ finishS }) => finishS)).toEqual([1090, 360])
  })

  it('places whole jobs on one server, spreads what fits on none, and slows it by its penalty', () => {
    const cluster = { servers: [{ ...server, count: 2 }] }
    const spread = simulate({ ...base, cluster, jobs: [job(0, 'modest', 0, 100, 6)] })
    expect(spread.jobs[0]!.finishS).toBe(150)
    expect(spread.spreadShare).toBe(1)
    const whole = simulate({ ...base, cluster, jobs: [job(0, 'modest', 0, 100, 3), job(1, 'modest', 0, 100, 4)] })
    expect(whole.spreadShare).toBe(0)
    expect(simulate({ ...base, cluster, jobs: [job(0, 'modest', 0, 100, 6)], spreadPenalty: 3 }).jobs[0]!.finishS).toBe(
      300,
    )
  })

  it('gives a job on several servers under tune what all of them have left', () => {
    const cluster = { servers: [{ ...server, count: 2 }] }
    const plan = planNow({ ...base, cluster, jobs: [job(0, 'hungry', 0, 100, 6)], mechanism: 'tune' })
    // 3 + 3 or 4 + 2 GPUs; 4 GPUs on 16 cores have 4 each and no more.
    expect(plan.running[0]!.placement.map(({ gpus }) => gpus)).toEqual([4, 2])
    expect(plan.running[0]).toMatchObject({ cpusPerGpu: 4, throughput: 1 })
    const roomy = { servers: [{ ...server, cpus: 32, count: 2 }] }
    expect(
      planNow({ ...base, cluster: roomy, jobs: [job(0, 'hungry', 0, 100, 6)], mechanism: 'tune' }).running[0],
    ).toMatchObject({
      cpusPerGpu: 8,
      throughput: 2,
    })
  })

  it('knows unequal servers: the share of each is its own', () => {
    const cluster = {
      servers: [
        { ...server, cpus: 8 },
        { ...server, cpus: 32 },
      ],
    }
    const jobs = [job(0, 'hungry', 0, 100, 4), job(1, 'hungry', 0, 100, 4)]
    const shares = planNow({ ...base, cluster, jobs }).running.map(({ cpusPerGpu, throughput }) => [
      cpusPerGpu,
      throughput,
    ])
    expect(shares.sort()).toEqual([
      [2, 0.5],
      [8, 2],
    ])
  })

  it('serves FTF by the largest ratio first: who has waited longest for its size', () => {
    // At 600 s the short job has waited ten times its work, the long one half of its own.
    const jobs = [job(0, 'modest', 0, 100_000, 4), job(1, 'modest', 100, 1000, 4), job(2, 'modest', 100, 50, 4)]
    const result = simulate({ ...base, jobs, policy: 'ftf' })
    const [long, middle, short] = result.jobs.map(({ finishS }) => finishS)
    expect(short).toBeLessThan(middle!)
    expect(middle).toBeLessThan(long!)
  })

  it('refuses impossible jobs and wrong options with errors that name them', () => {
    const jobs = [job(7, 'modest', 0, 100, 5)]
    expect(() => simulate({ ...base, jobs })).toThrow(ImpossibleJobError)
    expect(() => simulate({ ...base, jobs })).toThrow('job 7 can never run: it needs 5 GPUs and the cluster has 4')
    expect(() => simulate({ ...base, jobs: [] })).toThrow(/jobs: got 'none'/)
    expect(() => simulate({ ...base, jobs: [job(0, 'x', 0, 1)] })).toThrow(/unknown model 'x'; known: hungry, modest/)
    expect(() => simulate({ ...base, jobs: [job(0, 'modest', 0, 1), job(0, 'modest', 1, 1)] })).toThrow(/unique IDs/)
    expect(() => simulate({ ...base, jobs: [job(0, 'modest', Number.NaN, 1)] })).toThrow(/job 0: arrivalS/)
    expect(() => simulate({ ...base, jobs: [job(0, 'modest', 0, 0)] })).toThrow(/job 0: iterations/)
    expect(() => simulate({ ...base, jobs: [job(0, 'modest', 0, 1)], roundS: 0 })).toThrow(/roundS: got 0/)
    const tiny = { servers: [{ ...server, memoryGb: 1e-308 }] }
    expect(() => simulate({ ...base, cluster: tiny, jobs: [job(0, 'modest', 0, 1)] })).toThrow(/memoryGb: got 1e-308/)
    // Would never end, or fill the memory.
    expect(() => simulate({ ...base, jobs: [job(0, 'modest', 0, 1)], roundS: 1e-9 })).toThrow(/roundS: got 1e-9/)
    for (const more of [{ count: 1e9 }, { gpus: 2e9 }]) {
      const huge = { servers: [{ ...server, ...more }] }
      expect(() => simulate({ ...base, cluster: huge, jobs: [job(0, 'modest', 0, 1)] })).toThrow(/at most 1000000/)
    }
    const generated = { jobsPerHour: 1, profiles: [hungry], split: { image: 1, language: 0, speech: 0 }, seed: 1 }
    expect(() => generateTrace({ ...generated, jobs: 1e12 })).toThrow(/jobs: got 1000000000000, expected at most/)
    expect(() => simulate({ ...base, jobs: [job(0, 'modest', 0, 1)], mechanism: 'optimal' })).toThrow(
      /loadAllocationSolver/,
    )
    expect(() => simulate({ ...base, jobs: [job(0, 'modest', 0, 1)], policy: 'srsf' as never })).toThrow(
      /unknown policy 'srsf'/,
    )
    expect(() => simulate({ ...base, profiles: [modest, modest], jobs: [job(0, 'modest', 0, 1)] })).toThrow(
      /one profile per/,
    )
    const cluster = { servers: [{ ...server, gpus: 0 }] }
    expect(() => simulate({ ...base, cluster, jobs: [job(0, 'modest', 0, 1)] })).toThrow(
      /cluster.servers\[0\].gpus: got 0/,
    )
  })
})

describe('tune against fair on published traces', () => {
  const profiles = parseSynergyTables(published('model_profiles.json'), 3)
  const cases = ['static100', 'dyn40multi', 'tiny10'].flatMap((trace) =>
    policyNames.map((policy) => [trace, policy] as const),
  )

  it.each(cases)('%s under %s: mean completion time is no worse', (trace, policy) => {
    const run = (mechanism: MechanismName) =>
      summarize(
        simulate({
          cluster: {
            servers: [{ count: trace === 'tiny10' ? 2 : 4, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }],
          },
          jobs: parseReplayCsv(published(`traces/${trace}.csv`)),
          profiles,
          policy,
          mechanism,
        }),
      ).meanCompletionS
    expect(run('tune')).toBeLessThanOrEqual(run('fair'))
  })
})

describe('a profiled job', () => {
  it('goes from its matrix straight into the scheduler', async () => {
    const matrix = await profileJob({
      job: 'loader',
      gpus: 1,
      batchPerGpu: 32,
      dataset: { gb: 100, samples: 1_000_000 },
      residentGb: 4,
      storageMBps: 50,
      fairShare: { cpus: 3, memoryGb: 54 },
      memoryPercents: [0, 50, 100],
      search: { maxCpus: 24 },
      memoryGBps: async () => 10,
      run: async (cpus) => ({
        iterationS: { mean: 32 / Math.min(cpus * 100, 900), low: null, high: null },
        iterations: 50,
      }),
    })
    const profile = profileOfMatrix(matrix, 'image')
    const run = (mechanism: 'fair' | 'tune') =>
      simulate({
        cluster: { servers: [{ count: 1, gpus: 8, cpus: 24, memoryGb: 432, storageMBps: 500 }] },
        jobs: [{ id: 0, model: 'loader', gpus: 1, arrivalS: 0, iterations: 1000 }],
        profiles: [profile],
        policy: 'fifo',
        mechanism,
      }).jobs[0]!.finishS
    expect(run('fair')).toBeCloseTo(1000 * profile.iterationS, 6)
    expect(run('tune')).toBeCloseTo((1000 * 32) / 900, 6)
  })
})
