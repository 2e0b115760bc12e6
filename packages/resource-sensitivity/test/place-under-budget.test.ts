import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BudgetQuestion, type GpuProfile, gpuOptions, placeUnderBudget } from '../src/index.js'

/** Rates of a pipeline: the GPU's by type and limit, or what the cores prepare. */
function profile(
  model: string,
  perCore: number,
  rates: Readonly<Record<string, readonly [limitW: number, rate: number][]>>,
): GpuProfile {
  const cpusPerGpu = [1, 4]
  return {
    model,
    cpusPerGpu,
    memoryGbPerGpu: [10],
    points: Object.entries(rates).flatMap(([gpuType, limits]) =>
      limits.map(([powerLimitW, rate]) => ({
        ...{ gpuType, powerLimitW, sharePercent: 100 as const },
        iterationsPerS: cpusPerGpu.map((cpus) => [Math.min(rate, perCore * cpus)]),
        // Drawn in proportion to how busy the GPU is.
        dynamicPowerW: cpusPerGpu.map((cpus) => [(powerLimitW - 50) * Math.min(1, (perCore * cpus) / rate)]),
      })),
    ),
  }
}

const profiles = [
  profile('compute', 100, {
    big: [
      [400, 10],
      [200, 8],
    ],
    small: [
      [150, 4],
      [100, 3],
    ],
  }),
  profile('prepare', 1, {
    big: [
      [400, 10],
      [200, 8],
    ],
    small: [
      [150, 4],
      [100, 3],
    ],
  }),
]
const kind = { cpus: 8, memoryGb: 100, idlePowerW: 50 }
const servers = [
  { ...kind, count: 1, gpus: 2, gpuType: 'big' },
  { ...kind, count: 1, gpus: 2, gpuType: 'small' },
]
const jobs = [
  { id: 0, model: 'prepare', gpus: 1 },
  { id: 1, model: 'compute', gpus: 1 },
  { id: 2, model: 'compute', gpus: 1 },
  { id: 3, model: 'prepare', gpus: 1 },
]
const question: BudgetQuestion = { servers, jobs, profiles, powerBudgetW: 2000 }

/** The best of all placements, one after the other. */
function best({ powerBudgetW, jobs: all }: Pick<BudgetQuestion, 'powerBudgetW' | 'jobs'>): number {
  const free = servers.map(({ gpus, cpus }) => ({ gpus, cpus }))
  const idleW = servers.reduce((sum, { gpus, idlePowerW }) => sum + gpus * idlePowerW, 0)
  const options = profiles.map((each) => servers.map(({ gpuType }) => gpuOptions(each, gpuType)))
  const most = options.map((each) => Math.max(...each.flat().map(({ iterationsPerS }) => iterationsPerS)))
  const from = (j: number, leftW: number): number => {
    const job = all[j]
    if (job === undefined) return 0
    let value = from(j + 1, leftW)
    const p = profiles.findIndex(({ model }) => model === job.model)
    servers.forEach((_, s) => {
      for (const { cpus, dynamicPowerW, iterationsPerS } of options[p]![s]!) {
        const room = free[s]!
        if (room.gpus < job.gpus || room.cpus < cpus * job.gpus || leftW < dynamicPowerW * job.gpus) continue
        room.gpus -= job.gpus
        room.cpus -= cpus * job.gpus
        value = Math.max(value, iterationsPerS / most[p]! + from(j + 1, leftW - dynamicPowerW * job.gpus))
        room.gpus += job.gpus
        room.cpus += cpus * job.gpus
      }
    })
    return value
  }
  return from(0, powerBudgetW - idleW)
}

describe('jobs on a mixed cluster under a power budget', () => {
  it('gives the fast GPUs to who can use them, the cores to who lacks them, and few watts to who waits for cores', async () => {
    const { placed, waiting, objective, bound } = await placeUnderBudget(question)
    expect(waiting).toEqual([])
    expect(bound).toBeCloseTo(objective, 6)
    const of = (id: number) => placed.find(({ jobId }) => jobId === id)!
    expect([1, 2].map((id) => [of(id).gpuType, of(id).powerLimitW])).toEqual([
      ['big', 400],
      ['big', 400],
    ])
    expect([0, 3].map((id) => [of(id).gpuType, of(id).cpus])).toEqual([
      ['small', 4],
      ['small', 4],
    ])
    expect(of(1).energyPerIterationJ).toBeCloseTo(35, 9)
  })

  it('is the best of all placements, keeps the budget and every server, and never falls with more watts', async () => {
    const drawn = fc.array(
      fc.record({ model: fc.constantFrom('compute', 'prepare'), gpus: fc.constantFrom(1, 1, 2) }),
      {
        minLength: 1,
        maxLength: 4,
      },
    )
    await fc.assert(
      fc.asyncProperty(drawn, fc.integer({ min: 200, max: 1100 }), async (list, powerBudgetW) => {
        const asked = { ...question, powerBudgetW, jobs: list.map((job, id) => ({ ...job, id })) }
        const { placed, waiting, objective, bound, powerW } = await placeUnderBudget(asked)
        expect(objective).toBeCloseTo(best(asked), 6)
        expect(bound).toBeGreaterThanOrEqual(objective - 1e-6)
        expect(powerW).toBeLessThanOrEqual(powerBudgetW + 1e-6)
        expect(placed.length + waiting.length).toBe(list.length)
        servers.forEach((has, s) => {
          const here = placed.filter(({ server }) => server === s)
          const sum = (each: (job: (typeof here)[number]) => number) =>
            here.reduce((total, job) => total + asked.jobs[job.jobId]!.gpus * each(job), 0)
          expect(sum(() => 1)).toBeLessThanOrEqual(has.gpus)
          expect(sum(({ cpus }) => cpus)).toBeLessThanOrEqual(has.cpus)
          expect(sum(({ memoryGb }) => memoryGb)).toBeLessThanOrEqual(has.memoryGb)
        })
        const more = await placeUnderBudget({ ...asked, powerBudgetW: powerBudgetW + 100 })
        expect(more.objective).toBeGreaterThanOrEqual(objective - 1e-6)
      }),
      { numRuns: 25, seed: 1 },
    )
  })

  it('lets small jobs share a GPU where they are profiled so', async () => {
    const shared: GpuProfile = {
      ...{ model: 'light', cpusPerGpu: [1], memoryGbPerGpu: [10] },
      points: ([100, 50] as const).map((sharePercent) => ({
        ...{ gpuType: 'big', powerLimitW: 400, sharePercent },
        iterationsPerS: [[sharePercent === 100 ? 10 : 8]],
        dynamicPowerW: [[sharePercent === 100 ? 200 : 120]],
      })),
    }
    const many = Array.from({ length: 5 }, (_, id) => ({ id, model: 'light', gpus: 1 }))
    const { placed, waiting } = await placeUnderBudget({ ...question, profiles: [shared], jobs: many })
    expect(placed.map(({ sharePercent }) => sharePercent)).toEqual([50, 50, 50, 50])
    expect(waiting).toHaveLength(1)
    const wrong = { ...shared, points: [...shared.points, { ...shared.points[1]!, powerLimitW: 300 }] }
    await expect(placeUnderBudget({ ...question, profiles: [wrong], jobs: many })).rejects.toThrow(
      /light.points\[2\].powerLimitW: got 300, expected 400/,
    )
  })

  it('leaves failed and reserved GPUs alone, and tells which jobs no server could run', async () => {
    const withheld = [
      { server: 0, gpus: 2 },
      { server: 1, gpus: 1 },
    ]
    const { placed, waiting } = await placeUnderBudget({ ...question, withheld })
    expect(placed.map(({ server }) => server)).toEqual([1])
    expect(waiting).toHaveLength(3)
    const large = { ...question, jobs: [...jobs, { id: 9, model: 'compute', gpus: 3 }] }
    await expect(placeUnderBudget(large)).rejects.toThrow(/job 9 can never run: no server has 3 GPUs/)
    const { impossible, placed: others } = await placeUnderBudget({ ...large, skipImpossible: true })
    expect([impossible.map(({ jobId }) => jobId), others.length]).toEqual([[9], 4])
  })

  it('lets no jobs of two models share a GPU under two limits', async () => {
    const half = (model: string, powerLimitW: number): GpuProfile => {
      const whole = profile(model, 100, { big: [[powerLimitW, 10]] })
      return { ...whole, points: whole.points.map((point) => ({ ...point, sharePercent: 50 })) }
    }
    const two = (a: number, b: number) => ({
      ...question,
      ...{ servers: [{ ...servers[0]!, gpus: 1 }], profiles: [half('a', a), half('b', b)] },
      jobs: ['a', 'b'].map((model, id) => ({ id, model, gpus: 1 })),
    })
    await expect(placeUnderBudget(two(400, 200))).rejects.toThrow(
      /b.points\[0\].powerLimitW: got 200, expected 400, as the shares of a have/,
    )
    const { placed } = await placeUnderBudget(two(300, 300))
    expect(placed.map(({ server, powerLimitW }) => [server, powerLimitW])).toEqual([
      [0, 300],
      [0, 300],
    ])
  })

  it('refuses what is no question', async () => {
    const ask = (change: Partial<BudgetQuestion>) => placeUnderBudget({ ...question, ...change })
    await expect(ask({ powerBudgetW: 199 })).rejects.toThrow(/powerBudgetW: got 199, expected at least 200 W/)
    await expect(ask({ jobs: [{ id: 0, model: 'x', gpus: 1 }] })).rejects.toThrow(/model.*'x'/)
    await expect(ask({ jobs: [jobs[0]!, jobs[0]!] })).rejects.toThrow(/jobs: got 0, expected ids of their own/)
    await expect(ask({ withheld: [{ server: 2, gpus: 1 }] })).rejects.toThrow(/withheld\[0\].server: got 2/)
    await expect(ask({ servers: [{ ...servers[0]!, idlePowerW: -1 }] })).rejects.toThrow(/servers\[0\].idlePowerW/)
    const [some] = profiles
    await expect(ask({ profiles: [some!, some!] })).rejects.toThrow(/profiles: got 'compute, compute'/)
    await expect(ask({ profiles: [{ ...some!, points: [] }] })).rejects.toThrow(/compute.points: got 'none'/)
  })
})
