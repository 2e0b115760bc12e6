import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { keepsBudgets } from '../src/find-plan.js'
import {
  type Budgets,
  findPlan,
  type GpuProfile,
  InfeasibleBudgetError,
  simplePlans,
  type TrainingJob,
} from '../src/index.js'
import type { ProfileRow } from '../src/profile/gpu-profile.js'
import type { TrainingGpu } from '../src/training-job.js'
import { publishedOptimum } from './published-optimum.js'

// Clusters that nobody would build and somebody has: whatever they are made of, no plan is dearer than those that need no search.

const part = fc.double({ min: 0, max: 1, noNaN: true })

const anyGpu = fc
  .record({
    kind: fc.constantFrom('plain', 'plain', 'twenty times slower', 'one limit', 'one sample', 'few samples', 'clocks'),
    lowestW: fc.integer({ min: 60, max: 200 }),
    stepW: fc.integer({ min: 1, max: 30 }),
    limits: fc.integer({ min: 2, max: 6 }),
    samplesPerS: fc.double({ min: 50, max: 500, noNaN: true }),
    fixedS: fc.constantFrom(0, 0.001, 0.3),
    gain: fc.double({ min: 0, max: 1, noNaN: true }),
    idlePart: part,
    noise: fc.array(fc.double({ min: 0.93, max: 1.07, noNaN: true }), { minLength: 5, maxLength: 30 }),
  })
  .map(({ kind, lowestW, stepW, limits, samplesPerS, fixedS, gain, idlePart, noise }): TrainingGpu => {
    const count = kind === 'one limit' ? 1 : limits
    const speed = samplesPerS / (kind === 'twenty times slower' ? 20 : 1)
    const largestW = lowestW + stepW * (count - 1)
    let drawn = 0
    const row = (batchSize: number, powerLimitW: number, slower: number, more: object = {}): ProfileRow => {
      const timeS = (fixedS + (batchSize / speed) * slower) * noise[drawn++ % noise.length]!
      const powerW = powerLimitW * Math.min(1, 0.5 + batchSize / 100) * noise[drawn++ % noise.length]!
      return { batchSize, powerLimitW, timeS, energyJ: powerW * timeS, ...more }
    }
    const rows = [8, 16, 64].flatMap((batchSize) => [
      ...Array.from({ length: count }, (_, l) => {
        const limitW = lowestW + stepW * l
        return row(batchSize, limitW, (largestW / limitW) ** gain)
      }),
      ...(kind === 'clocks' ? [900, 1500] : []).map((smClockMhz) =>
        row(batchSize, largestW, 1600 / smClockMhz, { smClockMhz }),
      ),
    ])
    const profile: GpuProfile = { name: '', unit: 'step', idlePowerW: 0.9 * idlePart * lowestW, rows }
    if (kind === 'one sample') return { profile, maxMicroBatch: 1 }
    return kind === 'few samples' ? { profile, maxMicroBatch: 3, maxShare: 40 } : { profile }
  })

const anyJob = (most: number) =>
  fc
    .record({
      gpus: fc.array(anyGpu, { minLength: 1, maxLength: most }),
      globalBatch: fc.integer({ min: 1, max: 120 }),
      eta: fc.constantFrom(0, 0.3, 1),
      allReduceS: fc.constantFrom(0, 0.05),
      mayLeaveOut: fc.boolean(),
    })
    .map(
      ({ gpus, ...job }): TrainingJob => ({
        ...job,
        gpus: gpus.map((gpu, i) => ({ ...gpu, profile: { ...gpu.profile, name: `gpu${i}` } })),
      }),
    )

/** A part of what lies between the least and the most that the limits can add up to, from a hair above the least. */
function wattsOf({ gpus }: TrainingJob, of: number): number {
  const bounds = gpus.map(({ profile: { rows } }) => rows.map(({ powerLimitW }) => powerLimitW))
  const total = (pick: (...watts: number[]) => number) => bounds.reduce((sum, own) => sum + pick(...own), 0)
  return total(Math.min) + 1e-6 + of * (total(Math.max) - total(Math.min))
}

function planned(job: TrainingJob, budgets: Budgets) {
  try {
    return findPlan(job, budgets)
  } catch (error) {
    if (error instanceof InfeasibleBudgetError) return null
    throw error
  }
}

/** Whole shares, budgets kept, a bound that is one, and nothing without a search that is cheaper. */
function expectSound(job: TrainingJob, budgets: Budgets): void {
  const plan = planned(job, budgets)
  const published = publishedOptimum(job)
  const all = [...simplePlans(job), ...(published ? [['published optimum', published] as const] : [])]
  const others = all.filter(([, other]) => keepsBudgets(other, budgets))
  if (plan === null) {
    // The published search knows neither memory nor shares that must be.
    expect(others.filter(([name]) => name !== 'published optimum')).toEqual([])
    return
  }
  expect(plan.gpus.reduce((sum, { share }) => sum + share, 0)).toBe(job.globalBatch)
  expect(keepsBudgets(plan, budgets)).toBe(true)
  expect(plan.lowerBound).toBeLessThanOrEqual(plan.cost * (1 + 1e-12))
  expect(plan.lowerBound).toBeGreaterThanOrEqual(plan.cost * (1 - 1e-9))
  for (const [i, { share, powerLimitW }] of plan.gpus.entries()) {
    expect(share).toBeLessThanOrEqual(job.gpus[i]!.maxShare ?? job.globalBatch)
    expect(powerLimitW === null).toBe(share === 0)
    if (!job.mayLeaveOut) expect(share).toBeGreaterThan(0)
  }
  for (const [name, { cost }] of others) {
    if (name === 'published optimum' && job.gpus.some(({ maxShare }) => maxShare !== undefined)) continue
    expect(plan.cost, name).toBeLessThanOrEqual(cost * (1 + 1e-9))
  }
}

const numRuns = cases(400, 60)

describe('a cluster of whatever there is', () => {
  it('has a plan that nothing without a search beats', () => {
    fc.assert(
      fc.property(anyJob(5), (job) => expectSound(job, {})),
      { numRuns },
    )
  })

  it('within watts, down to a hair above the lowest limits', () => {
    fc.assert(
      fc.property(anyJob(4), fc.oneof(fc.constant(0), part), (job, of) =>
        expectSound(job, { powerW: wattsOf(job, of) }),
      ),
      { numRuns },
    )
  })

  it('within seconds and joules that a plan is known to keep', () => {
    fc.assert(
      fc.property(anyJob(4), part, fc.boolean(), (job, of, watts) => {
        const [fast, thrifty] = [planned({ ...job, eta: 0 }, {}), planned({ ...job, eta: 1 }, {})]
        if (fast === null || thrifty === null) return
        const timeS = fast.timeS + of * (thrifty.timeS - fast.timeS)
        const within = planned({ ...job, eta: 1 }, { timeS })!
        const budgets = { timeS, energyJ: within.energyJ }
        expectSound(job, watts ? { ...budgets, powerW: within.powerLimitW } : budgets)
      }),
      { numRuns },
    )
  })
})
