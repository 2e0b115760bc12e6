import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  BudgetEngine,
  type EngineEvent,
  type Incident,
  type Job,
  type ScheduleAction,
  type SimulateBudgetOptions,
  simulateUnderBudget,
} from '../src/index.js'
import { drawJobs, profiles, servers } from './mixed-world.js'

const idleW = servers.reduce((sum, { count, gpus, idlePowerW }) => sum + count * gpus * idlePowerW, 0)
const kinds = servers.flatMap((kind) => Array.from({ length: kind.count }, () => kind))
const world = { servers, profiles, policy: 'fifo', powerBudgetW: 1500, roundS: 60 } as const
const job = (id: number, model: string, gpus = 1, arrivalS = 0, iterations = 500): Job => ({
  ...{ id, model, gpus, arrivalS, iterations },
})
const submitted = (...jobs: readonly Job[]) => jobs.map((each): EngineEvent => ({ type: 'submitted', job: each }))

/** An observer that knows the profiles and the actions, and nothing of the engine: who draws what, and who sits where. */
class Watcher {
  readonly #models: ReadonlyMap<number, string>
  readonly #runs = new Map<string, { watts: number; server: number; gpus: number; cpus: number; memoryGb: number }>()
  constructor(jobs: readonly Job[]) {
    this.#models = new Map(jobs.map(({ id, model }) => [id, model]))
  }
  get powerW(): number {
    return [...this.#runs.values()].reduce((sum, { watts }) => sum + watts, idleW)
  }
  see(action: ScheduleAction): void {
    if (action.type === 'preempt') return
    const key = `${action.jobId}.${action.run}`
    const { gpuType, sharePercent, powerLimitW } = action.gpu!
    const profile = profiles.find(({ model }) => model === this.#models.get(action.jobId))!
    const point = profile.points.find(
      (each) => each.gpuType === gpuType && each.sharePercent === sharePercent && each.powerLimitW === powerLimitW,
    )!
    const i = profile.cpusPerGpu.indexOf(action.cpusPerGpu)
    const j = profile.memoryGbPerGpu.indexOf(action.memoryGbPerGpu)
    const before = this.#runs.get(key)
    const seat =
      action.type === 'resize'
        ? { server: before!.server, gpus: (before!.gpus * 100) / sharePercent }
        : action.placement[0]!
    expect(kinds[seat.server]!.gpuType).toBe(gpuType)
    this.#runs.set(key, {
      server: seat.server,
      gpus: (seat.gpus * sharePercent) / 100,
      cpus: seat.gpus * action.cpusPerGpu,
      memoryGb: seat.gpus * action.memoryGbPerGpu,
      watts: seat.gpus * point.dynamicPowerW[i]![j]!,
    })
    const here = [...this.#runs.values()].filter((run) => run.server === seat.server)
    for (const of of ['gpus', 'cpus', 'memoryGb'] as const) {
      expect(here.reduce((sum, run) => sum + run[of], 0)).toBeLessThanOrEqual(kinds[seat.server]![of] * (1 + 1e-9))
    }
  }
  gone(jobId: number, run?: number): void {
    for (const key of [...this.#runs.keys()]) {
      if (key === `${jobId}.${run}` || (run === undefined && key.startsWith(`${jobId}.`))) this.#runs.delete(key)
    }
  }
}

const scenario = fc.record({
  seed: fc.integer({ min: 0, max: 1e6 }),
  count: fc.integer({ min: 1, max: 16 }),
  gapS: fc.constantFrom(5, 60, 300),
  policy: fc.constantFrom('fifo' as const, 'srtf' as const),
  weight: fc.constantFrom('job' as const, 'gpu' as const),
  watts: fc.constantFrom('gain' as const, 'gain' as const, 'equal' as const),
  limitsChange: fc.boolean(),
  stopS: fc.constantFrom(0, 20),
  /** Factors of the watts at the start of each quarter hour; the last suffices for all. */
  budgets: fc.array(fc.integer({ min: 300, max: 2500 }), { maxLength: 5 }),
  failure: fc.boolean(),
  reserved: fc.boolean(),
})

describe('a cluster of unequal GPUs within watts that change', () => {
  it('is never above the budget, between the actions of a plan either, gives no more than servers have, and finishes all', () => {
    fc.assert(
      fc.property(scenario, ({ seed, count, gapS, budgets, stopS, failure, reserved, ...rules }) => {
        const jobs = drawJobs(count, gapS, seed)
        const steps = [1500, ...budgets, 2500]
        const incidents: Incident[] = [
          ...steps.map(
            (powerBudgetW, i): Incident => ({ atS: 0, event: { type: 'budget', powerBudgetW, fromS: 900 * i } }),
          ),
          ...(failure
            ? [
                { atS: 400, event: { type: 'server-failed', server: 0 } as const },
                { atS: 2000, event: { type: 'server-returned', server: 0 } as const },
              ]
            : []),
          ...(reserved
            ? [
                {
                  atS: 0,
                  event: {
                    type: 'reserved',
                    reservation: { id: 'r', server: 1, gpus: 2, fromS: 700, untilS: 1800 },
                  } as const,
                },
              ]
            : []),
        ]
        const engine = new BudgetEngine({ ...world, ...rules, budgetLeadS: stopS, restartCostS: 10 })
        const watcher = new Watcher(jobs)
        const leaving: { atS: number; event: EngineEvent & { type: 'left' } }[] = []
        let [arrived, happened] = [0, 0]
        while (arrived < jobs.length || engine.unfinished > 0) {
          const nowS = Math.min(
            ...[jobs[arrived]?.arrivalS, incidents[happened]?.atS, leaving[0]?.atS].map((at) => at ?? Infinity),
            engine.nextFinishS,
            engine.wakeAtS,
          )
          expect(nowS).toBeLessThan(1e7)
          const events: EngineEvent[] = []
          for (const jobId of engine.expectedToFinishBy(nowS)) {
            events.push({ type: 'finished', jobId })
            watcher.gone(jobId)
          }
          while (leaving.length > 0 && leaving[0]!.atS <= nowS) {
            const { event } = leaving.shift()!
            events.push(event)
            watcher.gone(event.jobId, event.run)
          }
          while (happened < incidents.length && incidents[happened]!.atS <= nowS)
            events.push(incidents[happened++]!.event)
          while (arrived < jobs.length && jobs[arrived]!.arrivalS <= nowS) events.push(...submitted(jobs[arrived++]!))
          const actions = engine.plan(nowS, events)
          for (const action of actions) {
            if (action.type === 'preempt' && action.reason === 'server-failed') watcher.gone(action.jobId, action.run)
          }
          const budgetW = steps[Math.min(steps.length - 1, Math.floor(nowS / 900))]!
          for (const action of actions) {
            // Who was told in this plan or before may still draw; what was above before a plan only falls.
            const beforeW = watcher.powerW
            watcher.see(action)
            expect(watcher.powerW).toBeLessThanOrEqual(Math.max(budgetW, beforeW) + 1e-6)
            if (action.type !== 'preempt') continue
            if (action.reason !== 'server-failed') {
              const { jobId, run } = action
              leaving.push({ atS: nowS + stopS, event: { type: 'left', jobId, run } })
            }
          }
          // Without time to leave, those who must are gone in the next plan of the same moment.
          if (stopS > 0 || leaving.length === 0) expect(watcher.powerW).toBeLessThanOrEqual(budgetW + 1e-6)
          expect(engine.powerW).toBeCloseTo(watcher.powerW, 6)
        }
      }),
      { numRuns: 30, seed: 1 },
    )
  })

  it('lowers limits when the budget falls, lets the last go when even that is too much, and raises them again', () => {
    const [engine, told] = [new BudgetEngine({ ...world, powerBudgetW: 950 }), [] as string[]]
    const plan = (nowS: number, ...events: readonly EngineEvent[]) => {
      for (const action of engine.plan(nowS, events)) {
        const watts = action.type === 'preempt' ? action.reason : `${action.gpu!.gpuType} ${action.gpu!.powerLimitW} W`
        told.push(`${action.type} ${action.jobId}.${action.run} ${watts}`)
      }
      return told.splice(0)
    }
    expect(plan(0, ...submitted(job(0, 'dense'), job(1, 'dense')))).toEqual([
      'place 0.1 fast 400 W',
      'place 1.1 fast 250 W',
    ])
    const to = (powerBudgetW: number): EngineEvent => ({ type: 'budget', powerBudgetW })
    expect(plan(10, to(700))).toEqual(['resize 0.1 fast 250 W'])
    expect(plan(20, to(400))).toEqual(['preempt 1.1 budget', 'resize 0.1 fast 150 W'])
    // It has not left yet: its watts belong to nobody else.
    expect(plan(30, to(600))).toEqual([])
    expect(plan(40, { type: 'left', jobId: 1, run: 1 })).toEqual(['place 1.2 fast 150 W', 'resize 0.1 fast 250 W'])
  })

  it('heeds a fall that is known so early that who must leave has left, and plans at that moment', () => {
    const engine = new BudgetEngine({ ...world, powerBudgetW: 800, budgetLeadS: 30 })
    engine.plan(0, [...submitted(job(0, 'dense', 2)), { type: 'budget', powerBudgetW: 350, fromS: 100 }])
    expect(engine.wakeAtS).toBe(70)
    expect(engine.plan(70, [])).toMatchObject([{ type: 'preempt', jobId: 0, reason: 'budget' }])
    expect(engine.powerBudgetW).toBe(800)
  })

  it('gives the fast GPUs to whom they help most, and moves a job to one that becomes free when nobody waits', () => {
    const engine = new BudgetEngine({ ...world, powerBudgetW: 2500 })
    const jobs = [...[0, 1, 2, 3].map((id) => job(id, 'light')), ...[4, 5, 6].map((id) => job(id, 'dense'))]
    const types = engine
      .plan(0, submitted(...jobs))
      .map((action) => (action.type === 'place' ? action.gpu!.gpuType : ''))
    expect(types).toEqual(['fast', ...Array(3).fill('thrifty'), ...Array(3).fill('fast')])
    expect(engine.plan(9, [{ type: 'finished', jobId: 0 }])).toMatchObject([{ type: 'preempt', jobId: 1 }])
    expect(engine.plan(9, [{ type: 'left', jobId: 1, run: 1 }])).toMatchObject([
      { type: 'place', jobId: 1, run: 2, gpu: { gpuType: 'fast' } },
    ])
  })

  it('makes room for a job that comes first in the order and finds none, and for nobody behind it meanwhile', () => {
    const engine = new BudgetEngine({ ...world, powerBudgetW: 2500, policy: 'srtf' })
    const long = Array.from({ length: 10 }, (_, id) => job(id, 'light', 1, 0, 90_000))
    engine.plan(0, submitted(...long))
    const wide = job(20, 'dense', 3, 10, 100)
    expect(engine.plan(10, submitted(wide))).toEqual([])
    const leaving = engine.plan(engine.wakeAtS, []).map(({ type, jobId, run }) => ({ type, jobId, run }))
    expect(leaving).toHaveLength(3)
    const [first, ...others] = leaving.map(({ jobId, run }): EngineEvent => ({ type: 'left', jobId, run }))
    expect(engine.plan(engine.nowS, [first!])).toEqual([])
    expect(engine.plan(engine.nowS, others)).toMatchObject([{ type: 'place', jobId: 20 }])
  })

  it('lets a job that has waited too long in all go first, and keep its place, however many shorter ones come', () => {
    const short = Array.from({ length: 100 }, (_, i) => job(i, 'light', 1, 8 * i, 40))
    const long = job(500, 'dense', 3, 30, 500)
    const run = (starvationAfterS?: number) => {
      const placed: number[] = []
      const { jobs } = simulateUnderBudget({
        ...{ ...world, powerBudgetW: 600, policy: 'srtf', jobs: [...short, long], stopS: 5, restartCostS: 10 },
        ...(starvationAfterS !== undefined && { starvationAfterS }),
        onActions: (atS, actions) => {
          for (const { type, jobId } of actions) if (type === 'place' && jobId === long.id) placed.push(atS)
        },
      })
      return { placed, finishS: jobs.find((each) => each.job.id === long.id)!.finishS }
    }
    const starving = run()
    expect(starving.placed[0]).toBeGreaterThan(600)
    const helped = run(200)
    // It has waited 200 s, the next round makes room, others leave in 5 s, and then it stays.
    expect(helped.placed).toHaveLength(1)
    expect(helped.placed[0]).toBeLessThanOrEqual(30 + 200 + world.roundS + 5)
    expect(helped.finishS).toBeLessThan(starving.finishS)
    expect(() => run(0)).toThrow(/starvationAfterS: got 0, expected seconds above 0/)
  })

  it('is sooner done than a type fixed for each job with the budget in equal limits, on each of these traces', () => {
    const types = kinds.flatMap(({ gpus, gpuType }) => Array.from({ length: gpus }, () => gpuType))
    for (const seed of [1, 2, 3]) {
      const jobs = drawJobs(40, 60, seed)
      const ask = (change: Partial<SimulateBudgetOptions>) =>
        simulateUnderBudget({ ...world, policy: 'srtf', restartCostS: 5, jobs, ...change })
      const ours = ask({})
      const inTurn = ask({ watts: 'equal', typeOf: ({ id }) => types[(id * 7) % types.length]! })
      expect(inTurn.meanCompletionS / ours.meanCompletionS).toBeGreaterThan(1.1)
      expect(ours.power.every(({ powerW, powerBudgetW }) => powerW <= powerBudgetW + 1e-6)).toBe(true)
    }
  })

  it('refuses what cannot be', () => {
    expect(() => new BudgetEngine({ ...world, powerBudgetW: 100 })).toThrow(
      /powerBudgetW: got 100, expected at least 290/,
    )
    expect(() => new BudgetEngine({ ...world, budgetLeadS: -1 })).toThrow(/budgetLeadS: got -1/)
    const engine = new BudgetEngine(world)
    expect(() => engine.plan(0, [{ type: 'budget', powerBudgetW: 0 }])).toThrow(/powerBudgetW: got 0/)
    expect(() => engine.plan(0, submitted(job(0, 'dense', 5)))).toThrow(/job 0 can never run: no server has 5 GPUs/)
    expect(() => engine.plan(0, [{ type: 'left', jobId: 3, run: 1 }])).toThrow(/left: jobId: got 3/)
    const { skipped, jobs } = simulateUnderBudget({
      ...world,
      jobs: [job(0, 'dense', 5), job(1, 'dense')],
      skipImpossible: true,
    })
    expect([skipped.length, jobs.length]).toEqual([1, 1])
    const never = { ...world, powerBudgetW: 300, jobs: [job(0, 'dense')] }
    expect(() => simulateUnderBudget(never)).toThrow(/servers or watts that stay away while jobs 0 wait/)
  })
})
