import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expandServers, totals } from '../src/cluster.js'
import type { PlaceAction, ScheduleAction } from '../src/engine/actions.js'
import {
  type EngineOptions,
  type MechanismName,
  type PolicyName,
  policyNames,
} from '../src/engine/scheduling-options.js'
import { type EngineEvent, ScheduleEngine, simulate } from '../src/index.js'
import { type ArbitraryScenario, scenario } from './arbitrary-scenario.js'
import { Assignments } from './assignments.js'

interface Step {
  readonly timeS: number
  readonly events: readonly EngineEvent[]
  readonly actions: readonly ScheduleAction[]
}

/** What a world that does not keep to the profiles does between two plans, drawn as numbers from 0 to 1. */
interface Weather {
  readonly kind: number
  readonly which: number
  readonly amount: number
}

const weather = fc.array(
  fc.record({
    kind: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    which: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    amount: fc.double({ min: 0.05, max: 1, noNaN: true }),
  }),
  { minLength: 20, maxLength: 60 },
)
const options = fc.record({
  policy: fc.constantFrom<PolicyName>(...policyNames),
  mechanism: fc.constantFrom<Exclude<MechanismName, 'optimal'>>('fair', 'greedy', 'tune', 'tune'),
  restartCostS: fc.constantFrom(0, 20),
  startCostS: fc.constantFrom(0, 5),
  resizeCostS: fc.constantFrom(0, 0, 30),
  spreadPenalty: fc.constantFrom(1, 1.3),
})

/** Run a scenario in rough weather until every job is finished or cancelled. */
function run(s: ArbitraryScenario, rules: Omit<EngineOptions, 'cluster' | 'profiles'>, days: readonly Weather[]) {
  const engineOptions = { ...rules, cluster: s.cluster, profiles: s.profiles }
  const engine = new ScheduleEngine(engineOptions)
  /** Servers that have failed or drain. */
  const away = new Set<number>()
  const servers = expandServers(s.cluster).length
  const assignments = new Assignments()
  const jobs = [...s.jobs].sort((a, b) => a.arrivalS - b.arrivalS || a.id - b.id)
  const gpusOf = new Map(jobs.map(({ id, gpus }) => [id, gpus]))
  const iterationsOf = new Map(jobs.map(({ id, iterations }) => [id, iterations]))
  const over = new Set<number>()
  const steps: Step[] = []
  let arrived = 0
  let day = 0
  let steady = 0
  while (arrived < jobs.length || over.size < jobs.length) {
    const drawn = days[day++]
    const arrivalAtS = jobs[arrived]?.arrivalS ?? Number.POSITIVE_INFINITY
    const nextS = Math.min(arrivalAtS, engine.nextFinishS, engine.wakeAtS)
    if (nextS === Number.POSITIVE_INFINITY) {
      // Only servers that are away can keep a job from ever running; they come back when the weather is over.
      expect(away.size).toBeGreaterThan(0)
    }
    const reachS = Number.isFinite(nextS) ? nextS : engine.nowS + 100
    const timeS = drawn === undefined ? reachS : engine.nowS + (reachS - engine.nowS) * drawn.amount
    const events: EngineEvent[] = []
    for (const jobId of engine.expectedToFinishBy(timeS)) events.push({ type: 'finished', jobId })
    while (arrived < jobs.length && jobs[arrived]!.arrivalS <= timeS) {
      events.push({ type: 'submitted', job: jobs[arrived++]! })
    }
    const running = engine.current().running.map(({ jobId }) => jobId)
    if (drawn !== undefined) events.push(...trouble(drawn, running))
    else if (away.size > 0) {
      for (const server of away) events.push({ type: 'server-returned', server })
      away.clear()
    }
    const known = new Set(over)
    for (const event of events) if (event.type === 'finished' || event.type === 'cancelled') over.add(event.jobId)
    const actions = engine.plan(timeS, events)
    steps.push({ timeS, events, actions })
    for (const event of events) {
      if ((event.type === 'finished' || event.type === 'stopped') && !known.has(event.jobId)) {
        const held = assignments.get(event.jobId)
        if (held !== undefined) assignments.ended(event.jobId, held.run)
      }
    }
    for (const action of actions) {
      expect(assignments.apply(action)).toBe(true)
      // Once more: it is done already.
      expect(assignments.apply(action)).toBe(false)
    }
    // The whole lot again, as after a lost answer.
    for (const action of actions) {
      if (action.type !== 'resize' || actions.filter(({ jobId }) => jobId === action.jobId).length === 1) {
        expect(assignments.apply(action)).toBe(false)
      }
    }
    check(timeS)
    if (++steady > 5000) throw new Error('the scenario does not end')
  }
  return { engineOptions, steps }

  function trouble({ kind, which, amount }: Weather, running: readonly number[]): EngineEvent[] {
    const server = Math.floor(which * servers)
    const jobId = running[Math.floor(which * running.length)]
    if (kind < 0.12) {
      away.add(server)
      return [
        { type: 'server-failed', server },
        // Told twice by two who noticed.
        { type: 'server-failed', server },
      ]
    }
    if (kind < 0.24) {
      away.delete(server)
      return [{ type: 'server-returned', server }]
    }
    if (kind < 0.36) {
      away.add(server)
      return [{ type: 'server-draining', server }]
    }
    if (jobId === undefined) return []
    const doneIterations = Math.floor(iterationsOf.get(jobId)! * amount * 0.5)
    if (kind < 0.5) return [{ type: 'stopped', jobId, doneIterations }]
    if (kind < 0.6) return [{ type: 'stopped', jobId }]
    if (kind < 0.75) return [{ type: 'progressed', jobId, doneIterations, saved: which < 0.5 }]
    if (kind < 0.8) {
      return [
        { type: 'cancelled', jobId },
        { type: 'finished', jobId },
      ]
    }
    return []
  }

  function check(nowS: number): void {
    const current = engine.current()
    // Nobody is lost, nobody is there twice.
    const there = [...current.running.map(({ jobId }) => jobId), ...current.waiting]
    expect(there.length + over.size).toBe(arrived)
    expect(new Set([...there, ...over]).size).toBe(arrived)
    // What was told is what is.
    expect([...assignments].map(([jobId]) => jobId).sort((a, b) => a - b)).toEqual(
      current.running.map(({ jobId }) => jobId).sort((a, b) => a - b),
    )
    const held = expandServers(s.cluster).map(() => ({ gpus: 0, cpus: 0, memoryGb: 0 }))
    for (const { jobId, placement, cpusPerGpu, memoryGbPerGpu } of current.running) {
      expect(assignments.get(jobId)).toMatchObject({ placement, cpusPerGpu, memoryGbPerGpu })
      // All of a job's GPUs or none, on different servers that are there.
      expect(placement.reduce((sum, { gpus }) => sum + gpus, 0)).toBe(gpusOf.get(jobId))
      expect(new Set(placement.map(({ server }) => server)).size).toBe(placement.length)
      for (const { server, gpus } of placement) {
        held[server]!.gpus += gpus
        held[server]!.cpus += gpus * cpusPerGpu
        held[server]!.memoryGb += gpus * memoryGbPerGpu
      }
    }
    expandServers(s.cluster).forEach((kind, i) => {
      const there = away.has(i) ? 0 : 1
      expect(held[i]!.gpus, `GPUs of server ${i} at ${nowS}`).toBeLessThanOrEqual(there * kind.gpus)
      expect(held[i]!.cpus).toBeLessThanOrEqual(there * kind.cpus * (1 + 1e-9) + 1e-9)
      expect(held[i]!.memoryGb).toBeLessThanOrEqual(there * kind.memoryGb * (1 + 1e-9) + 1e-9)
    })
  }
}

describe('laws of the engine', () => {
  it('in any weather: never over capacity, nobody lost or split, servers that are away left alone, all work done', () => {
    fc.assert(
      fc.property(scenario, options, weather, (s, rules, days) => {
        run(s, rules, days)
      }),
      { numRuns: 50 },
    )
  })

  it('answers the same events with the same actions', () => {
    fc.assert(
      fc.property(scenario, options, weather, (s, rules, days) => {
        const { engineOptions, steps } = run(s, rules, days)
        const again = new ScheduleEngine(engineOptions)
        for (const { timeS, events, actions } of steps) expect(again.plan(timeS, events)).toEqual(actions)
      }),
      { numRuns: 20 },
    )
  })

  it('hears the same report twice and does nothing the second time', () => {
    fc.assert(
      fc.property(scenario, options, weather, (s, rules, days) => {
        const { engineOptions, steps } = run(s, rules, days)
        const again = new ScheduleEngine(engineOptions)
        for (const { timeS, events, actions } of steps) {
          expect(again.plan(timeS, events)).toEqual(actions)
          if (!events.some(({ type }) => type === 'stopped' || type === 'progressed')) {
            expect(again.plan(timeS, events)).toEqual([])
          }
        }
      }),
      { numRuns: 20 },
    )
  })

  it('is what the simulation runs: its actions, carried out, are its plans', () => {
    fc.assert(
      fc.property(scenario, options, (s, rules) => {
        const assignments = new Assignments()
        simulate({
          ...s,
          ...rules,
          onActions: (_, actions) => {
            for (const action of actions) assignments.apply(action)
          },
          onPlan: ({ running }) => {
            for (const { jobId, placement, cpusPerGpu } of running) {
              expect(assignments.get(jobId)).toMatchObject({ placement, cpusPerGpu })
            }
          },
        })
      }),
      { numRuns: 20 },
    )
  })
})

describe('the engine', () => {
  const oneModel = {
    model: 'm',
    modelClass: null,
    cpusPerGpu: [1, 4],
    memoryGbPerGpu: [10],
    throughput: [[1], [1]],
    iterationS: 1,
    demand: { cpus: 1, memoryGb: 10 },
    speedupAtDemand: 1,
    spreadPenalty: 1,
  }
  const cluster = { servers: [{ count: 2, gpus: 2, cpus: 8, memoryGb: 100, storageMBps: 500 }] }
  const rules = { cluster, profiles: [oneModel], policy: 'fifo', mechanism: 'fair' } as const
  const submit = (id: number, gpus: number, iterations = 100): EngineEvent => ({
    type: 'submitted',
    job: { id, model: 'm', arrivalS: 0, iterations, gpus },
  })
  const said = (actions: readonly ScheduleAction[]) => actions.map(({ type, jobId, run }) => `${type} ${jobId}.${run}`)

  it('lets jobs of a failed server go on elsewhere from where they were last saved', () => {
    const engine = new ScheduleEngine(rules)
    expect(said(engine.plan(0, [submit(0, 2), submit(1, 1)]))).toEqual(['place 0.1', 'place 1.1'])
    const serverOf = (id: number) => engine.current().running.find(({ jobId }) => jobId === id)!.placement[0]!.server
    const [first, second] = [serverOf(0), serverOf(1)]
    engine.plan(40, [{ type: 'progressed', jobId: 0, doneIterations: 30, saved: true }])
    const away: EngineEvent = { type: 'server-failed', server: first }
    // Two GPUs are needed and one is free: job 0 comes first by its policy and takes both.
    expect(said(engine.plan(50, [away]))).toEqual(['preempt 1.1', 'migrate 0.2'])
    expect(serverOf(0)).toBe(second)
    // 70 of 100 are left.
    expect(engine.nextFinishS).toBe(120)
    expect(said(engine.plan(60, [{ type: 'server-returned', server: first }]))).toEqual(['place 1.2'])
  })

  it('takes jobs off a server that drains with what they have done, and lets them lose it where it fails as well', () => {
    const engine = new ScheduleEngine(rules)
    const [placed] = engine.plan(0, [submit(0, 2)])
    const { server } = (placed as PlaceAction).placement[0]!
    expect(said(engine.plan(40, [{ type: 'server-draining', server }]))).toEqual(['migrate 0.2'])
    expect(engine.nextFinishS).toBe(100)
    // Both drain: it waits until one is back, and goes there.
    const other = 1 - server
    const told = engine.plan(50, [{ type: 'server-draining', server: other }])
    expect(told).toEqual([{ type: 'preempt', jobId: 0, run: 2, reason: 'server-draining' }])
    expect(engine.plan(60, [{ type: 'server-failed', server: other }])).toEqual([])
    expect(said(engine.plan(70, [{ type: 'server-returned', server: other }]))).toEqual(['place 0.3'])
    expect(engine.nextFinishS).toBe(120)
    const both = (['server-draining', 'server-failed'] as const).map((type): EngineEvent => ({ type, server: other }))
    expect(engine.plan(80, both)).toMatchObject([{ type: 'preempt', reason: 'server-failed' }])
    engine.plan(90, [{ type: 'server-returned', server: other }])
    expect(engine.nextFinishS).toBe(140)
  })

  it('starts jobs anew on a server that has failed and is back when the engine hears of both', () => {
    const engine = new ScheduleEngine(rules)
    const [placed] = engine.plan(0, [submit(0, 2)])
    const { server } = (placed as PlaceAction).placement[0]!
    const both = (['server-failed', 'server-returned'] as const).map((type): EngineEvent => ({ type, server }))
    expect(engine.plan(40, both)).toMatchObject([
      { type: 'preempt', jobId: 0, run: 1, reason: 'server-failed' },
      { type: 'place', jobId: 0, run: 2 },
    ])
    // Nothing was saved.
    expect(engine.nextFinishS).toBe(140)
  })

  it('starts anew who ended by himself in the moment in which his place was taken away', () => {
    const engine = new ScheduleEngine(rules)
    engine.plan(0, [submit(0, 2), submit(1, 1)])
    const { server } = engine.current().running[1]!.placement[0]!
    // Its GPU is free again before the plan is made: the same place, and another run.
    const events: EngineEvent[] = [
      { type: 'server-draining', server },
      { type: 'stopped', jobId: 1, doneIterations: 30 },
      { type: 'server-returned', server },
    ]
    expect(said(engine.plan(40, events))).toEqual(['place 1.2'])
    // 70 of 100 are left.
    expect(engine.expectedToFinishBy(110)).toContain(1)
    expect(engine.expectedToFinishBy(109)).not.toContain(1)
  })

  it('counts no service for a job that waits, whatever is reported of its last run', () => {
    const engine = new ScheduleEngine(rules)
    engine.plan(0, [submit(0, 2)])
    engine.plan(40, [
      { type: 'server-draining', server: 0 },
      { type: 'server-draining', server: 1 },
    ])
    engine.plan(60, [{ type: 'progressed', jobId: 0, doneIterations: 30, saved: true }])
    engine.plan(90, [{ type: 'server-returned', server: 0 }])
    expect(engine.running.find(0)).toMatchObject({ state: 'running', attainedGpuS: 80, waitedS: 50 })
  })

  it('takes no progress for saved because the policy let a job go on', () => {
    for (const mechanism of ['fair', 'greedy', 'tune'] as const) {
      const engine = new ScheduleEngine({ ...rules, mechanism, policy: 'fifo' })
      engine.plan(0, [submit(0, 4), submit(1, 4)])
      const before = engine.running.find(0)!.remaining
      engine.plan(engine.wakeAtS, [])
      engine.plan(engine.nowS + 1, [{ type: 'server-failed', server: 0 }])
      expect(engine.running.find(0)!.remaining).toBe(before)
    }
  })

  it('says what it cannot be told, and has not changed then', () => {
    const engine = new ScheduleEngine(rules)
    engine.plan(0, [submit(0, 2)])
    const before = engine.current()
    const told = (event: EngineEvent) => () => engine.plan(5, [submit(7, 1), event])
    expect(told(submit(1, totals(cluster).gpus + 1))).toThrow(/job 1 can never run: it needs 5 GPUs/)
    expect(told({ type: 'finished', jobId: 9 })).toThrow(/finished: jobId: got 9, expected a submitted job/)
    expect(told({ type: 'server-failed', server: 2 })).toThrow(/server: got 2, expected a server from 0 to 1/)
    expect(() => engine.plan(-1, [])).toThrow(/nowS: got -1, expected a time not before 0/)
    expect(engine.current()).toEqual(before)
  })
})

describe('incidents of a simulation', () => {
  const s = fc.sample(scenario, { numRuns: 1, seed: 3 })[0]!

  it('cost time and lose no job; servers that stay away while jobs wait are told', () => {
    const servers = expandServers(s.cluster).map((_, server) => server)
    const all = (type: 'server-failed' | 'server-returned', atS: number) =>
      servers.map((server) => ({ atS, event: { type, server } as const }))
    const base = { ...s, policy: 'fifo', mechanism: 'fair' } as const
    const calm = simulate(base)
    const halfS = (calm.firstArrivalS + calm.lastFinishS) / 2
    const rough = simulate({
      ...base,
      incidents: [...all('server-failed', halfS), ...all('server-returned', halfS + 500)],
    })
    expect(rough.jobs).toHaveLength(s.jobs.length)
    expect(rough.lastFinishS).toBeGreaterThan(calm.lastFinishS)
    expect(() => simulate({ ...base, incidents: all('server-failed', halfS) })).toThrow(
      /incidents: got 'servers or watts that never return while jobs .* expected servers and watts that return/,
    )
  })
})
