import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import {
  BudgetEngine,
  type EngineEvent,
  type GpuProfile,
  type Job,
  type ScheduleAction,
  simulateUnderBudget,
} from '../src/index.js'
import { executeUnderBudget, type ScheduleExecutor } from '../src/slurm.js'
import { drawJobs, profiles, servers } from './mixed-world.js'

const world = { servers, profiles, policy: 'fifo', powerBudgetW: 1500, roundS: 60 } as const
const job = (id: number, model: string, gpus = 1, arrivalS = 0, iterations = 500): Job => ({
  ...{ id, model, gpus, arrivalS, iterations },
})
const submitted = (...jobs: readonly Job[]) => jobs.map((each): EngineEvent => ({ type: 'submitted', job: each }))
const stateOf = (engine: BudgetEngine, id: number) => engine.jobs.get(id)!.state

/** Models of one limit each, named after their watts. */
const plain = (...watts: readonly number[]): GpuProfile[] =>
  watts.map((each) => ({
    ...{ model: `${each} W`, cpusPerGpu: [1], memoryGbPerGpu: [1] },
    points: [{ gpuType: 'plain', sharePercent: 100, powerLimitW: 100, iterationsPerS: [[1]], dynamicPowerW: [[each]] }],
  }))
const three = [{ count: 3, gpus: 1, cpus: 4, memoryGb: 10, gpuType: 'plain', idlePowerW: 0 }]

describe('a budget engine that is told things in an unlucky order', () => {
  it('does not wait for ever for a run that ends by itself when it would be told to stop', () => {
    const reserved = [0, 1, 2].map((server): EngineEvent => {
      return { type: 'reserved', reservation: { id: `${server}`, server, gpus: 3, fromS: 100, untilS: 200 } }
    })
    const engine = new BudgetEngine(world)
    engine.plan(0, [...submitted(job(0, 'dense', 2)), ...reserved])
    engine.plan(100, [{ type: 'stopped', jobId: 0, doneIterations: 5 }])
    expect(stateOf(engine, 0)).toBe('waiting')
    engine.plan(200, [])
    expect(stateOf(engine, 0)).toBe('running')
    engine.plan(210, [
      { type: 'cancelled', jobId: 0 },
      { type: 'stopped', jobId: 0 },
    ])
    expect([stateOf(engine, 0), engine.unfinished]).toEqual(['done', 0])
  })

  it('lets nobody else leave for a job for whom others are leaving, however long that takes', () => {
    const engine = new BudgetEngine({ ...world, powerBudgetW: 2500, policy: 'srtf' })
    engine.plan(0, submitted(...Array.from({ length: 10 }, (_, id) => job(id, 'light', 1, 0, 90_000))))
    engine.plan(10, submitted(job(20, 'dense', 3, 10, 100)))
    expect(engine.plan(engine.wakeAtS, [])).toHaveLength(3)
    expect(engine.plan(engine.wakeAtS, [])).toEqual([])
    expect(engine.plan(engine.wakeAtS, [])).toEqual([])
  })

  it('gives the watts of those who leave for a job one after the other to nobody behind it', () => {
    const engine = new BudgetEngine({
      ...world,
      ...{ servers: three, profiles: plain(100, 60, 50), powerBudgetW: 60 },
    })
    const jobs = [job(0, '100 W', 1, 0), job(1, '50 W', 1, 1, 9000), job(2, '60 W', 1, 2, 9000)]
    engine.plan(0, submitted(jobs[0]!))
    engine.plan(2, submitted(...jobs.slice(1)))
    expect(engine.powerW).toBe(50)
    let nowS = 10
    let actions = engine.plan(nowS, [{ type: 'budget', powerBudgetW: 110 }])
    for (let n = 0; n < 20 && stateOf(engine, 0) === 'waiting'; n++) {
      // One leaves, and a second later the next.
      const leaving = [...engine.jobs.values()].filter(({ state }) => state === 'leaving')
      nowS = leaving.length > 0 ? nowS + 1 : engine.wakeAtS
      const left = leaving.slice(0, 1).map(({ job: { id }, run }): EngineEvent => ({ type: 'left', jobId: id, run }))
      actions = engine.plan(nowS, left)
    }
    expect(actions).toMatchObject([{ type: 'place', jobId: 0 }])
    expect(nowS).toBeLessThan(130)
  })

  describe('when a server drains', () => {
    const drained = () => {
      const engine = new BudgetEngine({ ...world, powerBudgetW: 500 })
      engine.plan(0, submitted(...[0, 1, 2, 3].map((id) => job(id, 'dense'))))
      const leaving = [...engine.jobs.values()].filter(({ state }) => state === 'running')
      expect(leaving.map(({ held }) => held!.server)).toEqual([0, 0])
      const told = engine.plan(10, [{ type: 'server-draining', server: 0 }])
      return { engine, leaving: leaving.map(({ job: { id } }) => id), told }
    }
    const placements = (actions: readonly ScheduleAction[]) =>
      actions.flatMap((each) => (each.type === 'place' ? each.placement.map(({ server }) => server) : []))

    it('keeps the watts of those who leave until they have left, and seats nobody there until it is back', () => {
      const { engine, leaving, told } = drained()
      expect(told).toEqual(
        leaving.toReversed().map((jobId) => ({ type: 'preempt', jobId, run: 1, reason: 'server-draining' }) as const),
      )
      expect(engine.powerW).toBeGreaterThan(450)
      // Told twice, and asked again: they still draw.
      expect(engine.plan(11, [{ type: 'server-draining', server: 0 }])).toEqual([])
      for (const [i, jobId] of leaving.entries()) {
        const actions = engine.plan(20 + i, [{ type: 'left', jobId, run: 1 }])
        expect(placements(actions).length).toBeGreaterThan(0)
        expect(placements(actions)).not.toContain(0)
        expect(engine.powerW).toBeLessThanOrEqual(500)
      }
      const rest = [...engine.jobs.values()].filter(({ state }) => state === 'running')
      engine.plan(30, [{ type: 'server-returned', server: 0 }])
      const freed = rest.map(({ job: { id } }): EngineEvent => ({ type: 'finished', jobId: id }))
      expect(placements(engine.plan(31, [...freed, ...submitted(job(9, 'dense', 1, 31))]))).toContain(0)
    })

    it('frees the watts at once when it fails while they leave, and stays failed when it is said to drain', () => {
      const { engine, leaving } = drained()
      const actions = engine.plan(12, [{ type: 'server-failed', server: 0 }])
      expect(placements(actions).length).toBeGreaterThan(0)
      expect(actions.some(({ type }) => type === 'preempt')).toBe(false)
      expect(engine.powerW).toBeLessThanOrEqual(500)
      const states = leaving.map((id) => stateOf(engine, id))
      // Reports of runs that were lost with it come late, and change nothing.
      const late = leaving.map((jobId): EngineEvent => ({ type: 'left', jobId, run: 1 }))
      expect(placements(engine.plan(13, [...late, { type: 'server-draining', server: 0 }]))).not.toContain(0)
      expect(leaving.map((id) => stateOf(engine, id))).toEqual(states)
    })
  })

  it('says the same whatever the order of jobs in a file', () => {
    for (const seed of [1, 2, 3]) {
      const jobs = drawJobs(12, 20, seed)
      const random = new SeededRandom(seed)
      const shuffled = jobs.map((each) => ({ each, at: random.uniform() })).sort((a, b) => a.at - b.at)
      const tell = (given: readonly Job[], stopS: number) => {
        const told: string[] = []
        const incidents = [400, 2000].map((powerBudgetW, i) => ({
          ...{ atS: 100 * (i + 1), event: { type: 'budget', powerBudgetW } as const },
        }))
        const onActions = (atS: number, actions: unknown) => told.push(JSON.stringify([atS, actions]))
        simulateUnderBudget({ ...world, jobs: given, stopS, incidents, onActions })
        return told
      }
      for (const stopS of [0, 90]) {
        expect(
          tell(
            shuffled.map(({ each }) => each),
            stopS,
          ),
        ).toEqual(tell(jobs, stopS))
      }
    }
  })

  it('counts energy from the first arrival on, whenever the first incident is', () => {
    const jobs = [job(0, 'dense', 1, 1000)]
    const alone = simulateUnderBudget({ ...world, jobs })
    const incidents = [{ atS: 0, event: { type: 'budget', powerBudgetW: 1500 } as const }]
    expect(simulateUnderBudget({ ...world, jobs, incidents }).energyJ).toBeCloseTo(alone.energyJ, 6)
  })

  it('tells of a job that was cancelled before it ran that it never started', () => {
    const jobs = [job(0, 'dense', 4), job(1, 'dense', 4, 1)]
    const incidents = [{ atS: 3, event: { type: 'cancelled', jobId: 1 } as const }]
    const [, cancelled] = simulateUnderBudget({ ...world, jobs, incidents }).jobs
    expect(cancelled).toMatchObject({ firstStartS: null, restarts: 0, finishS: 3 })
  })

  it('refuses incidents that cannot be before anything runs', async () => {
    const touched: string[] = []
    const executor: ScheduleExecutor = {
      nowS: () => 0,
      apply: async () => void touched.push('apply'),
      next: async () => [],
      close: async () => void touched.push('close'),
    }
    const jobs = [job(0, 'dense', 1, 5)]
    const reservation = { id: 'r', server: 0, gpus: 9, fromS: 0, untilS: 9 }
    for (const [event, message] of [
      [{ type: 'budget', powerBudgetW: 1 }, /powerBudgetW: got 1, expected at least 290/],
      [{ type: 'budget', powerBudgetW: 900, fromS: Number.NaN }, /budget: fromS: got NaN/],
      [{ type: 'server-draining', server: 9 }, /server-draining: server: got 9/],
      [{ type: 'server-failed', server: 9 }, /server-failed: server: got 9, expected a server from 0 to 2/],
      [{ type: 'reserved', reservation }, /reservation r: gpus: got 9/],
      [{ type: 'cancelled', jobId: 7 }, /cancelled: jobId: got 7/],
      [{ type: 'cancelled', jobId: 0 }, /incidents\[0\]\.atS: got 3, expected a time after job 0 has arrived/],
    ] as [EngineEvent, RegExp][]) {
      const incidents = [{ atS: 3, event }]
      await expect(executeUnderBudget({ ...world, jobs, incidents }, executor)).rejects.toThrow(message)
      expect(() => simulateUnderBudget({ ...world, jobs, incidents })).toThrow(message)
    }
    expect(touched).toEqual([])
  })
})
