import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { keepsBudgets } from '../src/find-plan.js'
import {
  type Budgets,
  curvesOf,
  findPlan,
  type GpuProfile,
  InfeasibleBudgetError,
  type TrainingJob,
} from '../src/index.js'
import type { ProfileRow } from '../src/profile/gpu-profile.js'
import { prepareJob } from '../src/training-job.js'
import type { TrainingPlan } from '../src/training-plan.js'

/** Noisy on purpose: limits that save nothing, power that falls with the batch. */
const anyGpu = (limitCount: number, clockCount = 0) =>
  fc
    .record({
      lowestW: fc.integer({ min: 80, max: 160 }),
      stepW: fc.integer({ min: 1, max: 15 }),
      samplesPerS: fc.double({ min: 20, max: 100, noNaN: true }),
      fixedS: fc.double({ min: 0, max: 0.2, noNaN: true }),
      idlePowerW: fc.double({ min: 0, max: 60, noNaN: true }),
      noise: fc.array(fc.double({ min: 0.9, max: 1.1, noNaN: true }), { minLength: 6, maxLength: 40 }),
    })
    .map(({ lowestW, stepW, samplesPerS, fixedS, idlePowerW, noise }): Omit<GpuProfile, 'name'> => {
      const limits = Array.from({ length: limitCount }, (_, i) => lowestW + stepW * i)
      const rows: ProfileRow[] = limits.flatMap((powerLimitW, l) =>
        [3, 8, 20].map((batchSize, b) => {
          const some = (at: number) => noise[(7 * l + 3 * b + at) % noise.length]!
          const timeS = (fixedS + (batchSize / samplesPerS) * Math.sqrt(limits.at(-1)! / powerLimitW)) * some(0)
          return { batchSize, powerLimitW, timeS, energyJ: timeS * (40 + 0.6 * powerLimitW) * some(1) }
        }),
      )
      for (let c = 0; c < clockCount; c++) {
        const smClockMhz = 600 + 150 * c
        for (const [b, batchSize] of [3, 8, 20].entries()) {
          const some = (at: number) => noise[(5 * c + 2 * b + at) % noise.length]!
          const timeS = (fixedS + (batchSize / samplesPerS) * (1500 / smClockMhz)) * some(2)
          const powerW = Math.min(limits.at(-1)!, (50 + smClockMhz / 10) * some(3))
          rows.push({ batchSize, powerLimitW: limits.at(-1)!, smClockMhz, timeS, energyJ: timeS * powerW })
        }
      }
      return { unit: 'step', idlePowerW, rows }
    })

const anyJob = (count: number, limitCount: number, maxSamples: number, clockCount = 0) =>
  fc
    .record({
      profiles: fc.array(anyGpu(limitCount, clockCount), { minLength: count, maxLength: count }),
      globalBatch: fc.integer({ min: count, max: maxSamples }),
      eta: fc.constantFrom(0, 0.5, 1),
      curves: fc.constantFrom('physical' as const, 'measured' as const),
      mayLeaveOut: fc.boolean(),
    })
    .map(
      ({ profiles, ...job }): TrainingJob => ({
        ...job,
        gpus: profiles.map((profile, i) => ({ profile: { ...profile, name: `gpu${i}` } })),
      }),
    )

/** Time, energy, cost and watts of every plan, by enumeration. */
function* everyPlan(job: TrainingJob): Generator<Pick<TrainingPlan, 'timeS' | 'energyJ' | 'cost' | 'powerLimitW'>> {
  const { curves, eta, maxPowerW } = prepareJob(job)
  function* extend(
    gpu: number,
    left: number,
    timeS: number,
    active: number,
    watts: number,
  ): ReturnType<typeof everyPlan> {
    if (gpu === curves.length) {
      if (left > 0) return
      const energyJ = active + timeS * curves.reduce((sum, { idlePowerW }) => sum + idlePowerW, 0)
      yield { timeS, energyJ, cost: eta * energyJ + (1 - eta) * maxPowerW * timeS, powerLimitW: watts }
      return
    }
    const own = curves[gpu]!
    if (job.mayLeaveOut !== false) yield* extend(gpu + 1, left, timeS, active, watts + own.idlePowerW)
    for (let share = gpu === curves.length - 1 ? Math.max(1, left) : 1; share <= left; share++) {
      for (const [limit, powerLimitW] of own.powerLimitsW.entries()) {
        const seconds = own.timeS(limit, share)
        const joules = (own.powerW(limit, share) - own.idlePowerW) * seconds
        yield* extend(gpu + 1, left - share, Math.max(timeS, seconds), active + joules, watts + powerLimitW)
      }
    }
  }
  yield* extend(0, job.globalBatch, 0, 0, 0)
}

const anyLargeJob = fc.oneof(anyJob(8, 16, 4096), anyJob(20, 6, 4096, 3))

const parts = fc.record({
  power: fc.double({ min: 0, max: 1, noNaN: true }),
  time: fc.constantFrom(1.05, 1.5, 100),
  energy: fc.constantFrom(1.02, 1.3, 100),
})

function expectCheapest(
  job: TrainingJob,
  { power, time, energy }: { power: number; time: number; energy: number },
): void {
  const all = [...everyPlan(job)]
  const watts = all.map(({ powerLimitW }) => powerLimitW)
  const minW = watts.reduce((a, b) => Math.min(a, b))
  const powerW = minW + power * (watts.reduce((a, b) => Math.max(a, b)) - minW)
  const lean = all.filter(({ powerLimitW }) => powerLimitW <= powerW)
  const budgets: Required<Budgets> = {
    powerW,
    timeS: time * lean.reduce((least, { timeS }) => Math.min(least, timeS), Number.POSITIVE_INFINITY),
    energyJ: energy * lean.reduce((least, { energyJ }) => Math.min(least, energyJ), Number.POSITIVE_INFINITY),
  }
  const within = lean.filter(({ timeS, energyJ }) => timeS <= budgets.timeS && energyJ <= budgets.energyJ)
  if (within.length === 0) {
    expect(() => findPlan(job, budgets)).toThrow(InfeasibleBudgetError)
    return
  }
  const plan = findPlan(job, budgets)
  const best = within.reduce((least, { cost }) => Math.min(least, cost), Number.POSITIVE_INFINITY)
  expect(plan.cost).toBeLessThanOrEqual(best * (1 + 1e-9))
  expect(plan.cost).toBeGreaterThanOrEqual(best * (1 - 1e-9))
  expect(plan.lowerBound).toBeGreaterThanOrEqual(plan.cost * (1 - 1e-9))
  expect(keepsBudgets(plan, budgets)).toBe(true)
  // Of the plans that are as fast none takes less energy, also where time alone counts.
  const asFast = within.filter(({ timeS }) => timeS <= plan.timeS)
  const thriftiest = asFast.reduce((least, { energyJ }) => Math.min(least, energyJ), Number.POSITIVE_INFINITY)
  expect(plan.energyJ).toBeLessThanOrEqual(thriftiest * (1 + 1e-8))
}

it('of a plan its own totals are budgets that it keeps', () => {
  fc.assert(
    fc.property(anyJob(3, 3, 40, 2), fc.constantFrom(0, 0.03), (job, allReduceS) => {
      const asked = { ...job, allReduceS }
      const { timeS, energyJ, powerLimitW, cost } = findPlan(asked)
      for (const powerW of [undefined, powerLimitW]) {
        const again = findPlan(asked, { timeS, energyJ, ...(powerW && { powerW }) })
        expect(again.cost).toBeCloseTo(cost, 9)
      }
    }),
    { numRuns: 40 },
  )
})

describe('a budget on watts, beside those on time and energy', () => {
  it('is met by the cheapest plan that meets it: two GPUs of 25 limits', () => {
    fc.assert(fc.property(anyJob(2, 25, 60), parts, expectCheapest), { numRuns: 10 })
  })

  it('three GPUs of 8 limits', () => {
    fc.assert(fc.property(anyJob(3, 8, 16), parts, expectCheapest), { numRuns: 15 })
  })

  it('four GPUs of 4 limits', () => {
    fc.assert(fc.property(anyJob(4, 4, 9), parts, expectCheapest), { numRuns: 15 })
  })

  it('three GPUs of 4 limits and 4 clocks that may be locked', () => {
    fc.assert(fc.property(anyJob(3, 4, 16, 4), parts, expectCheapest), { numRuns: 15 })
  })

  it('is proved to 0.5 % for eight GPUs of 16 limits, and twenty of 6 limits and 3 clocks', () => {
    fc.assert(
      fc.property(anyLargeJob, fc.double({ min: 0.05, max: 0.9, noNaN: true }), (job, part) => {
        const limits = job.gpus.map(({ profile }) => profile.rows.map(({ powerLimitW }) => powerLimitW))
        const [least, most] = [Math.min, Math.max].map((of) => limits.reduce((sum, own) => sum + of(...own), 0))
        const powerW = least! + part * (most! - least!)
        const plan = findPlan({ ...job, globalBatch: Math.max(20, job.globalBatch) }, { powerW })
        expect(plan.powerLimitW).toBeLessThanOrEqual(powerW)
        expect(plan.lowerBound).toBeGreaterThanOrEqual(plan.cost * 0.995)
        expect(plan.lowerBound).toBeLessThanOrEqual(plan.cost)
      }),
      { numRuns: cases(10, 2) },
    )
  })
})

it('a budget of energy that is a hair too small is told at once, with and without one on watts', () => {
  const limits = Array.from({ length: 12 }, (_, i) => 100 + 12 * i)
  const speeds = [310, 150, 820, 540]
  const gpus = speeds.map((samplesPerS, i) => {
    const rows = limits.flatMap((powerLimitW) =>
      [16, 64, 256].map((batchSize) => {
        const timeS = 0.01 + (batchSize / samplesPerS) * (232 / powerLimitW) ** (0.3 + 0.08 * i)
        return { batchSize, powerLimitW, timeS, energyJ: 0.9 * timeS * powerLimitW }
      }),
    )
    return { profile: { name: `gpu${i}`, unit: 'step' as const, idlePowerW: 10 + 7 * i, rows } }
  })
  const job: TrainingJob = { gpus, globalBatch: 2048, eta: 0 }
  for (const watts of [{}, { powerW: 600 }]) {
    const { energyJ } = findPlan({ ...job, eta: 1 }, watts)
    expect(() => findPlan(job, { ...watts, energyJ: energyJ / 1.0001 })).toThrow(/no plan .*the minimum is/)
    expect(findPlan(job, { ...watts, energyJ: energyJ * 1.0001 }).energyJ).toBeLessThanOrEqual(energyJ * 1.0001)
  }
})

describe('a locked clock', () => {
  const anyCase = fc.record({ gpu: anyGpu(4, 5), kind: fc.constantFrom('physical' as const, 'measured' as const) })

  it('counts for little more than it draws, within the limits that are known, and its time falls with the clock', () => {
    fc.assert(
      fc.property(anyCase, ({ gpu, kind }) => {
        const { settings, timeS, powerW, largestLimitW } = curvesOf({ ...gpu, name: 'gpu' }, kind)
        const limits = settings.flatMap(({ powerLimitW, smClockMhz }) => (smClockMhz === null ? [powerLimitW] : []))
        expect(settings.map(({ powerLimitW }) => powerLimitW)).toEqual(
          settings.map(({ powerLimitW }) => powerLimitW).sort((a, b) => a - b),
        )
        const locks = settings.flatMap((setting, s) => (setting.smClockMhz === null ? [] : [{ ...setting, s }]))
        expect(locks).toHaveLength(5)
        for (const { powerLimitW, smClockMhz, s } of locks) {
          const rows = gpu.rows.filter((row) => row.smClockMhz === smClockMhz)
          const drawnW = Math.max(...rows.map((row) => row.energyJ / row.timeS))
          expect(powerLimitW).toBe(Math.min(largestLimitW, Math.max(limits[0]!, Math.ceil(1.05 * drawnW))))
          for (const share of [1, 3, 10, 20, 50]) expect(powerW(s, share)).toBeLessThanOrEqual(powerLimitW)
        }
        if (kind === 'measured') return
        const byClock = locks.sort((a, b) => a.smClockMhz! - b.smClockMhz!)
        for (const [i, { s }] of byClock.slice(1).entries()) {
          for (const share of [3, 8, 20])
            expect(timeS(s, share)).toBeLessThanOrEqual(timeS(byClock[i]!.s, share) * 1.0001)
        }
      }),
      { numRuns: 40 },
    )
  })

  it('never makes a plan dearer, and is left alone where it is not allowed', () => {
    fc.assert(
      fc.property(anyJob(2, 4, 60, 4), (job) => {
        const without = { ...job, gpus: job.gpus.map((gpu) => ({ ...gpu, smClocksMhz: [] })) }
        const [free, limited] = [findPlan(job), findPlan(without)]
        expect(free.cost).toBeLessThanOrEqual(limited.cost * (1 + 1e-9))
        expect(limited.gpus.every(({ smClockMhz }) => smClockMhz === null)).toBe(true)
        const unlocked = job.gpus.map(({ profile }) => {
          const rows = profile.rows.filter(({ smClockMhz }) => smClockMhz === undefined)
          return { profile: { ...profile, rows } }
        })
        expect(limited.cost).toBeCloseTo(findPlan({ ...job, gpus: unlocked }).cost, 9)
      }),
      { numRuns: 40 },
    )
  })
})
