import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  chooseGlobalBatch,
  findPlan,
  fitConvergence,
  type GpuProfile,
  type GpuReport,
  InfeasibleBudgetError,
  type ReplanState,
  replan,
  startReplanning,
  stepsToAccuracy,
  type TrainingJob,
} from '../src/index.js'
import { prepareJob } from '../src/training-job.js'

const profileOf = (name: string, samplesPerS: number): GpuProfile => ({
  name,
  unit: 'step',
  idlePowerW: 20,
  rows: [200, 150, 100].flatMap((powerLimitW) =>
    [16, 64, 256].map((batchSize) => {
      const timeS = 0.01 + (batchSize / samplesPerS) * Math.sqrt(200 / powerLimitW)
      return { batchSize, powerLimitW, timeS, energyJ: 0.95 * powerLimitW * timeS }
    }),
  ),
})

const job: TrainingJob = {
  gpus: [profileOf('a', 1000), profileOf('b', 900), profileOf('c', 500)].map((profile) => ({ profile })),
  globalBatch: 240,
  eta: 0,
}

/** What a round shows where each GPU is so many times slower than its profile; null: it is gone. */
function round({ plan }: ReplanState, slowdowns: Readonly<Record<string, number | null>>): GpuReport[] {
  const { curves } = prepareJob(job)
  return plan.gpus.flatMap(({ name, share, powerLimitW }, i): GpuReport[] => {
    const slowdown = slowdowns[name] === undefined ? 1 : slowdowns[name]
    if (slowdown === null) return share > 0 ? [{ name, timeS: null }] : []
    if (powerLimitW === null) return []
    const { powerLimitsW, timeS } = curves[i]!
    return [{ name, timeS: slowdown * timeS(powerLimitsW.indexOf(powerLimitW), share) }]
  })
}

const sharesOf = ({ plan }: ReplanState) => plan.gpus.map(({ share }) => share)

describe('replan', () => {
  it('moves samples off a GPU that throttles, after some rounds and once', () => {
    let state = startReplanning(job)
    const before = sharesOf(state)
    const actions = Array.from({ length: 12 }, () => {
      const answer = replan(state, round(state, { a: 1.6 }))
      state = answer.state
      return answer.action
    })
    expect(actions.filter((action) => action === 'change')).toHaveLength(1)
    expect(actions.indexOf('change')).toBe(2)
    expect(sharesOf(state)[0]!).toBeLessThan(0.8 * before[0]!)
    expect(sharesOf(state).reduce((a, b) => a + b)).toBe(240)
    // And back, when it has cooled.
    for (let i = 0; i < 12; i++) state = replan(state, round(state, {})).state
    expect(sharesOf(state)[0]!).toBeGreaterThan(0.95 * before[0]!)
  })

  it('moves nothing for noise', () => {
    const noise = fc.array(fc.double({ min: 0.96, max: 1.04, noNaN: true }), { minLength: 60, maxLength: 60 })
    fc.assert(
      fc.property(noise, (factors) => {
        let state = startReplanning(job)
        for (let i = 0; i < 20; i++) {
          const [a, b, c] = factors.slice(3 * i)
          const answer = replan(state, round(state, { a: a!, b: b!, c: c! }))
          expect(answer.action).toBe('keep')
          state = answer.state
        }
      }),
      { numRuns: 15 },
    )
  })

  it('plans around a GPU that drops out at once, with the plan that one would make without it', () => {
    const state = startReplanning(job)
    const { action, gain, state: after } = replan(state, round(state, { b: null }))
    expect({ action, gain }).toEqual({ action: 'change', gain: Number.POSITIVE_INFINITY })
    expect(sharesOf(after)[1]).toBe(0)
    const without = findPlan({ ...job, gpus: [job.gpus[0]!, job.gpus[2]!] })
    expect(after.plan.timeS).toBeCloseTo(without.timeS, 12)
    expect(sharesOf(after)).toEqual([without.gpus[0]!.share, 0, without.gpus[1]!.share])
    expect(replan(after, round(after, {})).action).toBe('keep')
    expect(() => replan(after, [...round(after, {}), { name: 'b', timeS: 1 }])).toThrow(/reports: got 'b'/)
  })

  it('keeps the budgets, and says where those that are left cannot', () => {
    const state = startReplanning(job, { powerW: 400 })
    expect(state.plan.powerLimitW).toBeLessThanOrEqual(400)
    const { state: after } = replan(state, round(state, { c: null }))
    expect(after.plan.powerLimitW).toBeLessThanOrEqual(400)
    const fast = startReplanning(job, { timeS: 1.1 * findPlan(job).timeS })
    expect(() => replan(fast, round(fast, { a: null }))).toThrow(InfeasibleBudgetError)
  })

  it('leaves a plan that no longer keeps its budget of time, though that costs more', () => {
    const slack = { ...job, eta: 1 }
    let state = startReplanning(slack, { timeS: 1.3 * findPlan(job).timeS })
    const { timeS } = state.budgets
    const actions = Array.from({ length: 8 }, () => {
      const answer = replan(state, round(state, { a: 1.1, b: 1.1, c: 1.1 }))
      state = answer.state
      return answer.action
    })
    expect(actions).toContain('change')
    const { curves } = prepareJob(job)
    for (const [i, { share, powerLimitW }] of state.plan.gpus.entries()) {
      if (powerLimitW === null) continue
      const { powerLimitsW, timeS: of } = curves[i]!
      expect(1.1 * of(powerLimitsW.indexOf(powerLimitW), share)).toBeLessThanOrEqual(1.01 * timeS!)
    }
  })

  it('does not change to what is running', () => {
    let state = startReplanning(job)
    for (let i = 0; i < 5; i++) {
      const answer = replan(state, round(state, {}), { leastGain: 0, rounds: 1 })
      expect(answer.action).toBe('keep')
      state = answer.state
    }
  })

  it('refuses reports and options that are none', () => {
    const state = startReplanning(job)
    const good = round(state, {})
    expect(() => replan(state, [{ name: 'a', timeS: null }, ...good])).toThrow(/reports: got 'a twice'/)
    expect(() => replan(state, good.slice(1))).toThrow(/reports: got 'none of a'/)
    expect(() =>
      replan(
        state,
        good.map((each) => ({ ...each, timeS: 0 })),
      ),
    ).toThrow(/reports: a: got 0/)
    expect(() => replan(state, good, { rounds: 0 })).toThrow(/rounds: got 0/)
    expect(() => replan(state, good, { leastGain: 1 })).toThrow(/leastGain: got 1/)
    expect(() => replan(state, good, { newWeight: 0 })).toThrow(/newWeight: got 0/)
  })
})

describe('chooseGlobalBatch', () => {
  it('finds the batch that each batch by itself shows to be the cheapest', () => {
    const anyConvergence = fc.record({
      leastSteps: fc.integer({ min: 100, max: 10_000 }),
      noiseScale: fc.integer({ min: 0, max: 5000 }),
    })
    fc.assert(
      fc.property(anyConvergence, fc.constantFrom(0, 0.5, 1), (convergence, eta) => {
        const batches = [16, 64, 128, 256, 512]
        const chosen = chooseGlobalBatch({ ...job, eta }, batches, convergence)
        const costs = batches.map(
          (globalBatch) =>
            convergence.leastSteps *
            (1 + convergence.noiseScale / globalBatch) *
            findPlan({ ...job, eta, globalBatch }).cost,
        )
        expect(chosen.cost).toBeCloseTo(Math.min(...costs), 6)
        expect(chosen.globalBatch).toBe(batches[costs.indexOf(Math.min(...costs))])
        expect(chosen.choices).toHaveLength(5)
      }),
      { numRuns: 20 },
    )
  })

  it('takes larger batches where gradients are noisier', () => {
    const chosen = [10, 100, 1000, 10_000].map(
      (noiseScale) =>
        chooseGlobalBatch(job, [8, 16, 32, 64, 128, 256, 512], { leastSteps: 1000, noiseScale }).globalBatch,
    )
    expect(chosen).toEqual([...chosen].sort((a, b) => a - b))
    expect(chosen[3]!).toBeGreaterThan(chosen[0]!)
  })

  it('learns both numbers from runs, and passes over batches without a plan', () => {
    const truth = { leastSteps: 1500, noiseScale: 700 }
    const runs = [64, 256, 1024].map((globalBatch) => ({ globalBatch, steps: stepsToAccuracy(truth, globalBatch) }))
    const fitted = fitConvergence(runs)
    expect(fitted.leastSteps).toBeCloseTo(1500, 6)
    expect(fitted.noiseScale).toBeCloseTo(700, 6)
    const capped = { ...job, gpus: job.gpus.map((gpu) => ({ ...gpu, maxShare: 50 })) }
    expect(chooseGlobalBatch(capped, [100, 150, 151], truth).choices.map(({ globalBatch }) => globalBatch)).toEqual([
      100, 150,
    ])
    expect(() => chooseGlobalBatch(capped, [151], truth)).toThrow(/no split of 151 samples fits/)
    expect(() => fitConvergence(runs.slice(1, 2))).toThrow(/runs: got 1/)
    expect(() => fitConvergence([...runs].map((run, i) => ({ ...run, steps: 100 * (i + 1) })))).toThrow(/steps fall/)
    expect(() => chooseGlobalBatch(job, [], truth)).toThrow(/batches: got 'none'/)
    expect(() => chooseGlobalBatch(job, [64], { ...truth, leastSteps: 0 })).toThrow(/leastSteps: got 0/)
  })
})
