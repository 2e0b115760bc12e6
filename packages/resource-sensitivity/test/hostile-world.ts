import { SeededRandom } from '@pctodl/numerics'
import type { ScheduleAction } from '../src/engine/actions.js'
import type { ScheduleEngine } from '../src/engine/schedule-engine.js'
import type { EngineEvent, Job } from '../src/index.js'

/** What a run really holds on one server, by the actions and by what has happened since. */
export interface Holding {
  readonly jobId: number
  readonly run: number
  readonly seats: readonly { readonly server: number; readonly gpus: number }[]
  /** The last action that said what it has. */
  granted: Extract<ScheduleAction, { type: 'place' | 'migrate' | 'resize' }>
  leaving: boolean
}

export interface HostileOptions {
  readonly seed: number
  readonly jobs: readonly Job[]
  /** GPUs of each server. */
  readonly servers: readonly number[]
  /** Whether a run that was told to stop holds what it has until it has left. */
  readonly waitsForLeaving: boolean
  /** Least and most watts; nothing where there are none. */
  readonly watts?: readonly [least: number, most: number]
  readonly steps: number
  /** Told after each plan and after each of its actions. */
  readonly check: (holdings: readonly Holding[], nowS: number, when: 'action' | 'plan') => void
  readonly told?: (nowS: number, events: readonly EngineEvent[], actions: readonly ScheduleAction[]) => void
}

/**
 * A world in which anything happens at any time: jobs end, crash and are cancelled while they run, wait or are told to leave, in the very plan that
 * stops them too; servers drain, fail and return, watts fall below what is drawn; reports come twice. In the end it calms down.
 *
 * @throws where jobs are left that never end
 */
export function attack(engine: ScheduleEngine, options: HostileOptions): void {
  const { jobs, servers, waitsForLeaving, watts, steps, check, told } = options
  const random = new SeededRandom(options.seed)
  const below = (n: number) => Math.floor(n * random.uniform())
  const chance = (part: number) => random.uniform() < part
  const held = new Map<number, Holding>()
  const waiting = [...jobs]
  const [present, over] = [new Set<number>(), new Set<number>()]
  const [failed, draining] = [new Set<number>(), new Set<number>()]
  let nowS = 0

  const end = (jobId: number, how: 'finished' | 'cancelled'): EngineEvent => {
    over.add(jobId)
    present.delete(jobId)
    if (how === 'finished') held.delete(jobId)
    return { type: how, jobId }
  }
  const crash = (jobId: number): EngineEvent => {
    const { iterations } = jobs.find(({ id }) => id === jobId)!
    held.delete(jobId)
    return chance(0.5)
      ? { type: 'stopped', jobId }
      : { type: 'stopped', jobId, doneIterations: iterations * random.uniform() }
  }
  const fail = (server: number): EngineEvent => {
    failed.add(server)
    draining.delete(server)
    for (const [jobId, { seats }] of held) if (seats.some((seat) => seat.server === server)) held.delete(jobId)
    return { type: 'server-failed', server }
  }
  const drain = (server: number): EngineEvent => {
    if (!failed.has(server)) draining.add(server)
    return { type: 'server-draining', server }
  }
  const plan = (events: readonly EngineEvent[]) => {
    const actions = engine.plan(nowS, events)
    told?.(nowS, events, actions)
    for (const action of actions) {
      carryOut(action)
      check([...held.values()], nowS, 'action')
    }
    check([...held.values()], nowS, 'plan')
  }
  const carryOut = (action: ScheduleAction) => {
    const { type, jobId, run } = action
    if (type === 'resize') {
      const holding = held.get(jobId)
      if (holding?.run !== run) throw new Error(`job ${jobId} run ${run} is resized and does not run`)
      holding.granted = action
    } else if (type === 'preempt') {
      const holding = held.get(jobId)
      // Who ended in the moment in which he was told to is gone already.
      if (holding?.run !== run) return
      if (waitsForLeaving && action.reason !== 'server-failed') holding.leaving = true
      else held.delete(jobId)
    } else {
      if (held.has(jobId) && type === 'place') throw new Error(`job ${jobId} is placed and runs already`)
      if (over.has(jobId)) throw new Error(`job ${jobId} is placed and is over`)
      if (action.placement.some(({ server }) => failed.has(server) || draining.has(server)))
        throw new Error(`job ${jobId} is placed on a server that is away`)
      held.set(jobId, { jobId, run, seats: action.placement, granted: action, leaving: false })
    }
  }

  for (let step = 0; step < steps; step++) {
    // Often nothing but the time at which the engine wants to be asked, or at which somebody would be done; often no time at all.
    const due = Math.min(engine.wakeAtS, engine.nextFinishS)
    if (chance(0.4) && due < nowS + 1e5) nowS = Math.max(nowS, due)
    else if (chance(0.7)) nowS += 200 * random.uniform() ** 3
    const events: EngineEvent[] = []
    for (let n = below(4); n > 0; n--) {
      const runs = [...held.values()]
      const any = runs[below(runs.length)]
      const what = below(14)
      if (what < 4 && waiting.length > 0) {
        const job = waiting.shift()!
        present.add(job.id)
        events.push({ type: 'submitted', job: { ...job, arrivalS: nowS } })
      } else if (what < 6 && any !== undefined) events.push(end(any.jobId, 'finished'))
      else if (what === 6 && any !== undefined) events.push(crash(any.jobId))
      else if (what < 9 && any?.leaving === true) {
        held.delete(any.jobId)
        events.push({ type: 'left', jobId: any.jobId, run: any.run })
      } else if (what === 9 && any !== undefined) {
        const { iterations } = jobs.find(({ id }) => id === any.jobId)!
        events.push({
          type: 'progressed',
          jobId: any.jobId,
          doneIterations: iterations * random.uniform(),
          saved: chance(0.5),
        })
      } else if (what === 10 && present.size > 0 && chance(0.3))
        events.push(end([...present][below(present.size)]!, 'cancelled'))
      else if (what === 11) events.push(chance(0.5) ? fail(below(servers.length)) : drain(below(servers.length)))
      else if (what === 12 && failed.size + draining.size > 0) {
        const server = [...failed, ...draining][below(failed.size + draining.size)]!
        failed.delete(server)
        draining.delete(server)
        events.push({ type: 'server-returned', server })
      } else if (what === 13 && watts !== undefined) {
        const powerBudgetW = watts[0] + (watts[1] - watts[0]) * random.uniform() ** 2
        events.push({ type: 'budget', powerBudgetW, ...(chance(0.5) && { fromS: nowS + 300 * random.uniform() }) })
      }
    }
    // What was told before.
    const gone = [...over].filter((jobId) => !held.has(jobId))
    if (chance(0.1) && gone.length > 0) events.push({ type: 'finished', jobId: gone[below(gone.length)]! })
    if (chance(0.1)) for (const server of failed) events.push({ type: 'server-failed', server })
    plan(events)
  }

  // All is well again, and all that was told to come is over.
  const submitted = waiting
    .splice(0)
    .map((job): EngineEvent => ({ type: 'submitted', job: { ...job, arrivalS: nowS } }))
  nowS += 2000
  const returned = [...failed, ...draining].map((server): EngineEvent => ({ type: 'server-returned', server }))
  failed.clear()
  draining.clear()
  plan([
    ...submitted,
    ...returned,
    ...(watts === undefined ? [] : [{ type: 'budget', powerBudgetW: watts[1] } as const]),
  ])
  for (let step = 0; engine.unfinished > 0; step++) {
    if (step > 1000 * jobs.length)
      throw new Error(`jobs that never end: ${[...engine.waiting].join(', ') || 'some that run'}`)
    const events: EngineEvent[] = [...held.values()]
      .filter(({ leaving }) => leaving)
      .map(({ jobId, run }) => ({ type: 'left', jobId, run }))
    for (const event of events) if (event.type === 'left') held.delete(event.jobId)
    if (events.length === 0) {
      // Who is overdue is done at last.
      nowS = Math.max(nowS, Math.min(engine.nextFinishS, engine.wakeAtS))
      if (nowS === Number.POSITIVE_INFINITY) throw new Error(`jobs that wait for ever: ${engine.waiting.join(', ')}`)
      events.push(...engine.expectedToFinishBy(nowS).map((jobId) => end(jobId, 'finished')))
    }
    plan(events)
  }
  if (held.size > 0) throw new Error(`runs that nobody knows of: ${[...held.keys()].join(', ')}`)
}
