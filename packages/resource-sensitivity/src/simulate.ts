import { InvalidInputError } from '@pctodl/platform'
import type { EngineEvent, Plan, ScheduleAction } from './engine/actions.js'
import { ScheduleEngine } from './engine/schedule-engine.js'
import {
  assertRunnable,
  type CheckedEngineOptions,
  checkEngineOptions,
  type EngineOptions,
  type MechanismName,
  type PolicyName,
} from './engine/scheduling-options.js'
import { assertAtLeast } from './errors.js'
import type { Job } from './trace.js'

/**
 * Simulate a trace on a cluster from the first arrival until every job has finished: a `ScheduleEngine` in a world that
 * follows the profiles exactly.
 *
 * An arriving job starts at once if there is room, and resources of a finishing job are reassigned at once. While jobs
 * wait, the policy decides afresh every `roundS` seconds which jobs run; continuing jobs keep their place. Time jumps
 * from event to event.
 *
 * @throws InvalidInputError, UnknownNameError, ImpossibleJobError
 */
export function simulate(options: SimulationOptions): SimulationResult {
  const { jobs, incidents } = checkOptions(options)
  const { onPlan, onActions, stopS = 0 } = options
  assertAtLeast('stopS', stopS, 0, 'seconds')
  const steps: { fromS: number; powerW: number; powerBudgetW: number }[] = []
  const startS = Math.min(jobs[0]!.arrivalS, incidents[0]?.atS ?? Number.POSITIVE_INFINITY)
  const engine = new ScheduleEngine(options, startS)
  const { power } = engine
  const due = new DueEvents(jobs, incidents)
  /** Ends of runs that were told to stop; under a power budget, other jobs wait for them. */
  const leaving: { readonly atS: number; readonly event: EngineEvent }[] = []
  while (!due.allArrived || engine.unfinished > 0) {
    const leftAtS = leaving[0]?.atS ?? Number.POSITIVE_INFINITY
    const nowS = Math.min(due.nextAtS, leftAtS, engine.nextFinishS, engine.wakeAtS)
    if (nowS === Number.POSITIVE_INFINITY) throw whoNeverRuns(engine)
    const events = engine.expectedToFinishBy(nowS).map((jobId): EngineEvent => ({ type: 'finished', jobId }))
    while (leaving.length > 0 && leaving[0]!.atS <= nowS) events.push(leaving.shift()!.event)
    events.push(...due.takeUntil(nowS))
    const actions = engine.plan(nowS, events)
    if (actions.length > 0) onActions?.(nowS, actions)
    if (power !== null) {
      for (const { type, jobId, run } of actions) {
        if (type === 'preempt') leaving.push({ atS: nowS + stopS, event: { type: 'left', jobId, run } })
      }
      // Plans of one moment are one.
      if (steps.at(-1)?.fromS === nowS) steps.pop()
      steps.push({ fromS: nowS, powerW: power.powerW, powerBudgetW: power.budgetW })
    }
    if (engine.changed) onPlan?.(engine.current())
  }
  const result = resultOf(options, engine, startS, jobs[0]!.arrivalS)
  if (power === null) return result
  const idleJ = engine.running.totals.idleW * (result.lastFinishS - result.firstArrivalS)
  return { ...result, power: steps, energyJ: idleJ + power.energyJ }
}

/**
 * Makes one scheduling decision for jobs that have all just arrived: which job runs, on which servers and with what
 * share. For later decisions, give a `ScheduleEngine` the events.
 *
 * @throws as `simulate`
 */
export function planNow(options: EngineOptions & Pick<SimulationOptions, 'jobs'>): Plan {
  const { jobs } = checkOptions({ ...options, jobs: options.jobs.map((job) => ({ ...job, arrivalS: 0 })) })
  const engine = new ScheduleEngine(options)
  engine.adopt(jobs)
  engine.plan(0, [])
  return engine.current()
}

function resultOf(
  { jobs, policy, mechanism }: SimulationOptions,
  { running, rounds, events }: ScheduleEngine,
  startS: number,
  firstArrivalS: number,
): SimulationResult {
  const { nowS, totals } = running
  const { sums } = running.usage
  const results = jobs.map((job): JobResult => {
    const { firstStartS, finishS, waitedS, attainedGpuS, restarts, kind } = running.find(job.id)!
    const completionS = finishS - job.arrivalS
    const rho = completionS / (job.iterations * kind.fairIterationS)
    return { job, firstStartS: firstStartS!, finishS, completionS, waitedS, attainedGpuS, restarts, rho }
  })
  const gpuS = totals.gpus * (nowS - firstArrivalS)
  const durationS = Math.max(nowS - startS, Number.MIN_VALUE)
  const heldGpuS = results.reduce((sum, { attainedGpuS }) => sum + attainedGpuS, 0)
  return {
    ...{ policy, mechanism, jobs: results, firstArrivalS, lastFinishS: nowS, rounds, events },
    usage: {
      gpu: sums.gpus / (totals.gpus * durationS),
      cpu: sums.cpus / (totals.cpus * durationS),
      memory: sums.memoryGb / (totals.memoryGb * durationS),
      waiting: sums.waiting / durationS,
    },
    idleWhileWaiting: sums.idleWhileWaiting / gpuS,
    spreadShare: sums.spreadGpus / heldGpuS,
  }
}

export interface SimulationOptions extends EngineOptions {
  readonly jobs: readonly Job[]
  /**
   * Incidents: servers that fail, drain and return, and changes of the power budget. Each happens at its time;
   * simultaneous ones in this order.
   */
  readonly incidents?: readonly Incident[]
  /** With GPU types: time for which a stopped run keeps drawing power until it exits, s. Default 0. */
  readonly stopS?: number
  /** Called for every change of placements or shares. */
  readonly onPlan?: (plan: Plan) => void
  /** Called with the engine's actions, if there are any. */
  readonly onActions?: (timeS: number, actions: readonly ScheduleAction[]) => void
}

/** An engine event and its time, on the clock of the arrivals. */
export interface Incident {
  readonly atS: number
  readonly event: EngineEvent
}

export interface CheckedOptions extends CheckedEngineOptions {
  /** Jobs in order of arrival. */
  readonly jobs: readonly Job[]
  readonly incidents: readonly Incident[]
}

/** @throws InvalidInputError, UnknownNameError, ImpossibleJobError */
export function checkOptions(options: SimulationOptions): CheckedOptions {
  const { cluster, jobs, profiles, incidents = [] } = options
  const checked = checkEngineOptions(options)
  const models = new Map(profiles.map((profile) => [profile.model, profile]))
  const ids = new Set<number>()
  for (const job of jobs) {
    if (ids.has(job.id)) throw new InvalidInputError('jobs', job.id, 'unique IDs')
    ids.add(job.id)
    assertRunnable(job, models, cluster)
  }
  if (jobs.length === 0) throw new InvalidInputError('jobs', 'none', 'at least one job')
  incidents.forEach(({ atS }, i) => {
    assertAtLeast(`incidents[${i}].atS`, atS, 0, 'seconds')
  })
  return {
    ...checked,
    jobs: [...jobs].sort((a, b) => a.arrivalS - b.arrivalS || a.id - b.id),
    incidents: [...incidents].sort((a, b) => a.atS - b.atS),
  }
}

export interface JobResult {
  readonly job: Job
  readonly firstStartS: number
  readonly finishS: number
  readonly completionS: number
  readonly waitedS: number
  readonly attainedGpuS: number
  /** Number of times it resumed after preemption or a move. */
  readonly restarts: number
  /** Completion time over the time of the same work alone on the cluster with its fair share: Themis' rho. */
  readonly rho: number
}

export interface SimulationResult {
  readonly policy: PolicyName
  readonly mechanism: MechanismName
  /** In the order of the trace. */
  readonly jobs: readonly JobResult[]
  readonly firstArrivalS: number
  readonly lastFinishS: number
  /** Number of times the policy decided afresh which jobs run. */
  readonly rounds: number
  readonly events: number
  /** Means over the run: fractions of the cluster in use (0..1), and the number of waiting jobs. */
  readonly usage: { readonly gpu: number; readonly cpu: number; readonly memory: number; readonly waiting: number }
  /** Mean fraction of the GPUs idle while at least one job waited, 0..1 over the whole run. */
  readonly idleWhileWaiting: number
  /** Fraction of the held GPU time used by jobs on several servers, 0..1. */
  readonly spreadShare: number
  /**
   * Steps of the power drawn and of the budget, W, each valid from `fromS` on. Absent if the servers have no GPU types.
   */
  readonly power?: readonly { readonly fromS: number; readonly powerW: number; readonly powerBudgetW: number }[]
  /** With GPU types: energy of all GPUs from the first arrival on, idle GPUs included, J. */
  readonly energyJ?: number
}

/** Events of a trace: job arrivals and incidents, which are taken when they are due. */
export class DueEvents {
  readonly #events: readonly Incident[]
  /** Number of events up to the last arrival. */
  readonly #untilLastArrival: number
  #taken = 0

  constructor(jobs: readonly Job[], incidents: readonly Incident[]) {
    const arrivals = jobs.map((job): Incident => ({ atS: job.arrivalS, event: { type: 'submitted', job } }))
    // At the same moment, incidents come first.
    this.#events = [...incidents, ...arrivals].sort((a, b) => a.atS - b.atS)
    this.#untilLastArrival = this.#events.findLastIndex(({ event }) => event.type === 'submitted') + 1
  }

  /** Whether every job has been taken; incidents may remain. */
  get allArrived(): boolean {
    return this.#taken >= this.#untilLastArrival
  }

  /** Time of the next event, s; Infinity if none is left. */
  get nextAtS(): number {
    return this.#events[this.#taken]?.atS ?? Number.POSITIVE_INFINITY
  }

  /** Takes the events that are due. */
  takeUntil(nowS: number): EngineEvent[] {
    const due: EngineEvent[] = []
    while (this.nextAtS <= nowS) due.push(this.#events[this.#taken++]!.event)
    return due
  }
}

/** Returns the error for jobs that wait for servers or watts that never return. */
export function whoNeverRuns({ waiting }: ScheduleEngine): InvalidInputError {
  return new InvalidInputError(
    'incidents',
    `servers or watts that never return while jobs ${waiting.slice(0, 5).join(', ')} wait for them`,
    'servers and watts that return, or fewer that fail',
  )
}
