import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stepsToAccuracy } from '../src/choose-batch.js'
import {
  chooseGlobalBatch,
  findPlan,
  fitConvergence,
  type GpuProfile,
  InfeasibleBudgetError,
  replan,
  startReplanning,
  type TrainingJob,
} from '../src/index.js'
import type { GpuReport, ReplanState } from '../src/replan.js'
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
      { numRuns: 6 },
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

  it('is not moved by one long step, however long, nor by one that breaks a budget', () => {
    const long = fc.record({
      factor: fc.double({ min: 1, max: 1000, noNaN: true }),
      gpu: fc.constantFrom('a', 'b', 'c'),
      slack: fc.constantFrom(1.01, 1.2, 100),
    })
    fc.assert(
      fc.property(long, ({ factor, gpu, slack }) => {
        let state = startReplanning(job, { timeS: slack * findPlan(job).timeS })
        for (const slowdowns of [{}, { [gpu]: factor }, {}, {}, {}, {}]) {
          const answer = replan(state, round(state, slowdowns))
          expect(answer.action).toBe('keep')
          state = answer.state
        }
      }),
      { numRuns: 20 },
    )
  })

  it('says that the budgets cannot be kept once that has been so for some rounds', () => {
    const start = startReplanning(job, { timeS: 1.01 * findPlan(job).timeS })
    const slow = (state: ReplanState) => replan(state, round(state, { a: 1.5, b: 1.5, c: 1.5 })).state
    const twice = slow(slow(start))
    expect(twice.plan).toBe(start.plan)
    expect(() => slow(twice)).toThrow(InfeasibleBudgetError)
    expect(replan(twice, round(twice, {})).action).toBe('keep')
  })

  it('takes GPUs in again that cooled down or came back, when it is told so', () => {
    let state = startReplanning(job)
    const before = sharesOf(state)
    state = replan(state, round(state, { b: null })).state
    for (let i = 0; i < 6; i++) state = replan(state, round(state, { a: 50 })).state
    expect(sharesOf(state)).toEqual([0, 0, 240])
    for (let i = 0; i < 6; i++) state = replan(state, round(state, {})).state
    expect(sharesOf(state)).toEqual([0, 0, 240])
    const back = ['a', 'b'].map((name): GpuReport => ({ name, timeS: 'back' }))
    state = replan(state, [...round(state, {}), ...back]).state
    const actions = Array.from({ length: 3 }, () => {
      const answer = replan(state, round(state, {}))
      state = answer.state
      return answer.action
    })
    expect(actions).toContain('change')
    expect(sharesOf(state)).toEqual(before)
    expect(() => replan(state, [...round(state, {}).slice(1), { name: 'a', timeS: 'back' }])).toThrow(
      /a: got 'back', expected its time/,
    )
  })

  it('ends up within the least gain of the best, whatever happened before', () => {
    const event = fc.record({
      gpu: fc.constantFrom('a', 'b', 'c'),
      what: fc.constantFrom('gone', 'back', 'slow' as const),
      factor: fc.double({ min: 0.2, max: 30, noNaN: true }),
    })
    const story = fc.record({
      events: fc.array(event, { maxLength: 12 }),
      eta: fc.constantFrom(0, 0.5, 1),
      mayLeaveOut: fc.boolean(),
    })
    fc.assert(
      fc.property(story, ({ events, eta, mayLeaveOut }) => {
        let state = startReplanning({ ...job, eta, mayLeaveOut })
        const truth = new Map(['a', 'b', 'c'].map((name) => [name, 1]))
        const gone = new Set<string>()
        const step = (more: readonly GpuReport[] = []) => {
          const named = new Set(more.map(({ name }) => name))
          const measured = round(state, Object.fromEntries(truth)).filter(({ name }) => !named.has(name))
          state = replan(state, [...measured, ...more]).state
          expect(sharesOf(state).reduce((a, b) => a + b)).toBe(240)
          for (const { name, share } of state.plan.gpus) if (gone.has(name)) expect(share).toBe(0)
        }
        for (const { gpu, what, factor } of events) {
          if (what === 'slow') truth.set(gpu, factor)
          const hasShare = state.plan.gpus.some(({ name, share }) => name === gpu && share > 0)
          if (what === 'gone' && !gone.has(gpu) && gone.size < 2) {
            gone.add(gpu)
            step([{ name: gpu, timeS: null }])
          } else if (what === 'back' && !hasShare) {
            gone.delete(gpu)
            truth.set(gpu, 1)
            step([{ name: gpu, timeS: 'back' }])
          } else step()
        }
        for (let i = 0; i < 25; i++) step()
        const gpus = job.gpus.flatMap(({ profile }) => {
          const slowdown = state.slowdowns.get(profile.name)
          if (slowdown === undefined) return []
          const rows = profile.rows.map((row) => ({
            ...row,
            timeS: slowdown * row.timeS,
            energyJ: slowdown * row.energyJ,
          }))
          return [{ profile: { ...profile, rows } }]
        })
        const { curves, maxPowerW } = prepareJob({ ...job, gpus })
        const running = state.plan.gpus.filter(({ name }) => !gone.has(name))
        const times = running.map(({ share, powerLimitW }, i) =>
          powerLimitW === null ? 0 : curves[i]!.timeS(curves[i]!.powerLimitsW.indexOf(powerLimitW), share),
        )
        const timeS = Math.max(...times)
        const energyJ = running.reduce((sum, { share, powerLimitW }, i) => {
          const { idlePowerW, powerW, powerLimitsW } = curves[i]!
          const watts = powerLimitW === null ? 0 : powerW(powerLimitsW.indexOf(powerLimitW), share)
          return sum + watts * times[i]! + idlePowerW * (timeS - times[i]!)
        }, 0)
        const cost = eta * energyJ + (1 - eta) * maxPowerW * timeS
        const best = findPlan({ ...job, gpus, eta, mayLeaveOut })
        expect(1 - best.cost / cost).toBeLessThan(0.051)
      }),
      { numRuns: 25 },
    )
  })

  it('says so when no GPU is left', () => {
    const state = startReplanning(job)
    expect(() => replan(state, round(state, { a: null, b: null, c: null }))).toThrow(InfeasibleBudgetError)
    expect(() => replan(state, round(state, { a: null, b: null, c: null }))).toThrow(/no GPU is left to train on/)
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
      const answer = replan(state, round(state, {}), { minGain: 0, rounds: 1 })
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
    expect(() => replan(state, good, { minGain: 1 })).toThrow(/minGain: got 1/)
    expect(() => replan(state, good, { newWeight: 0 })).toThrow(/newWeight: got 0/)
  })
})

describe('chooseGlobalBatch', () => {
  it('finds the batch that each batch by itself shows to be the cheapest', () => {
    const anyConvergence = fc.record({
      minSteps: fc.integer({ min: 100, max: 10_000 }),
      noiseScale: fc.integer({ min: 0, max: 5000 }),
    })
    fc.assert(
      fc.property(anyConvergence, fc.constantFrom(0, 0.5, 1), (convergence, eta) => {
        const batches = [16, 64, 128, 256, 512]
        const chosen = chooseGlobalBatch({ ...job, eta }, batches, convergence)
        const costs = batches.map(
          (globalBatch) =>
            convergence.minSteps *
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
        chooseGlobalBatch(job, [8, 16, 32, 64, 128, 256, 512], { minSteps: 1000, noiseScale }).globalBatch,
    )
    expect(chosen).toEqual([...chosen].sort((a, b) => a - b))
    expect(chosen[3]!).toBeGreaterThan(chosen[0]!)
  })

  it('learns both numbers from runs, and passes over batches without a plan', () => {
    const truth = { minSteps: 1500, noiseScale: 700 }
    const runs = [64, 256, 1024].map((globalBatch) => ({ globalBatch, steps: stepsToAccuracy(truth, globalBatch) }))
    const fitted = fitConvergence(runs)
    expect(fitted.minSteps).toBeCloseTo(1500, 6)
    expect(fitted.noiseScale).toBeCloseTo(700, 6)
    const capped = { ...job, gpus: job.gpus.map((gpu) => ({ ...gpu, maxShare: 50 })) }
    expect(chooseGlobalBatch(capped, [100, 150, 151], truth).choices.map(({ globalBatch }) => globalBatch)).toEqual([
      100, 150,
    ])
    expect(() => chooseGlobalBatch(capped, [151], truth)).toThrow(/no split of 151 samples fits/)
    expect(() => fitConvergence(runs.slice(1, 2))).toThrow(/runs: got 1/)
    expect(() => fitConvergence([...runs].map((run, i) => ({ ...run, steps: 100 * (i + 1) })))).toThrow(/steps fall/)
    expect(() => chooseGlobalBatch(job, [], truth)).toThrow(/batches: got 'none'/)
    expect(() => chooseGlobalBatch(job, [64], { ...truth, minSteps: 0 })).toThrow(/minSteps: got 0/)
  })
})

describe('a locked clock that draws a round number of watts', () => {
  it('keeps its limit however much the GPU is believed to throttle', () => {
    const round = (name: string): GpuProfile => ({
      name,
      unit: 'step',
      idlePowerW: 20,
      rows: [32, 64, 128].flatMap((batchSize) => {
        const timeS = 0.01 + batchSize / 1000
        return [
          { batchSize, powerLimitW: 400, timeS, energyJ: 380 * timeS },
          { batchSize, powerLimitW: 90, timeS: 4 * timeS, energyJ: 360 * timeS },
          { batchSize, powerLimitW: 400, smClockMhz: 1000, timeS, energyJ: 100 * timeS },
        ]
      }),
    })
    const begun = startReplanning({
      gpus: [{ profile: round('a') }, { profile: round('b') }],
      globalBatch: 128,
      eta: 1,
      mayLeaveOut: false,
    })
    const [a, b] = begun.plan.gpus
    expect(a).toMatchObject({ smClockMhz: 1000, powerLimitW: 105 })
    for (let tenths = 11; tenths < 25; tenths++) {
      const reports = [
        { name: 'a', timeS: (a!.timeS * tenths) / 10 },
        { name: 'b', timeS: b!.timeS },
      ]
      expect(replan(begun, reports).gain, `${tenths} tenths`).toBeGreaterThanOrEqual(0)
    }
  })
})
