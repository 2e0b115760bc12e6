import { assertAtLeast } from '../checks.js'
import { countGpus, idleWattsOf } from '../cluster/cluster.js'
import type { Plan } from '../engine/actions.js'
import type { EngineEvent } from '../engine/engine-event.js'
import { ScheduleEngine } from '../engine/schedule-engine.js'
import type { Job } from '../trace/job.js'
import { DueEvents, whoNeverRuns } from './due-events.js'
import type { JobResult, SimulationResult } from './simulation-options.js'
import { checkOptions, type PlanOptions, type SimulationOptions } from './simulation-options.js'

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
  const { jobs, incidents, skipped } = checkOptions(options)
  const { onPlan, onActions, stopS = 0 } = options
  assertAtLeast('stopS', stopS, 0, 'seconds')
  const hasTypes = options.cluster.servers.some(({ gpuType }) => gpuType !== undefined)
  const power: { fromS: number; powerW: number; powerBudgetW: number }[] = []
  const engine = new ScheduleEngine(options, Math.min(jobs[0]!.arrivalS, incidents[0]?.atS ?? Number.POSITIVE_INFINITY))
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
    if (hasTypes) {
      for (const { type, jobId, run } of actions) {
        if (type === 'preempt') leaving.push({ atS: nowS + stopS, event: { type: 'left', jobId, run } })
      }
      // Plans of one moment are one.
      if (power.at(-1)?.fromS === nowS) power.pop()
      power.push({ fromS: nowS, powerW: engine.powerW, powerBudgetW: engine.powerBudgetW })
    }
    if (engine.changed) onPlan?.(engine.current())
  }
  const result = resultOf(options, engine, jobs, skipped)
  if (!hasTypes) return result
  const idleJ = idleWattsOf(options.cluster) * (result.lastFinishS - result.firstArrivalS)
  return { ...result, power, energyJ: idleJ + engine.dynamicEnergyJ }
}

/**
 * Makes one scheduling decision for jobs that are all present: which job runs, on which servers and with what share.
 * Running jobs keep their place unless the policy gives their GPUs to others. A job in `running` that is missing from
 * the plan's `running` must be stopped; it is listed as waiting.
 *
 * Without `nowS`, all jobs have just arrived. `iterations` of a job is its remaining work unless its state has
 * `doneIterations`.
 *
 * @throws as `simulate`; InvalidInputError for a running job that is not among the jobs, arrives later, or uses GPUs
 * that do not exist
 */
export function planNow(options: PlanOptions): Plan {
  const { nowS, running = [], waiting = [] } = options
  if (nowS !== undefined) assertAtLeast('nowS', nowS, 0, 'seconds')
  const present =
    nowS === undefined
      ? options.jobs.map((job): Job => ({ ...job, arrivalS: 0 }))
      : options.jobs.filter(({ arrivalS }) => !(arrivalS > nowS))
  const { jobs } = checkOptions({ ...options, jobs: present })
  const engine = new ScheduleEngine(options, jobs[0]!.arrivalS)
  engine.adopt(nowS ?? 0, jobs, running, waiting)
  engine.plan(nowS ?? 0, [])
  return engine.current()
}

function resultOf(
  { cluster, jobs, policy, mechanism }: SimulationOptions,
  { running, rounds, events }: ScheduleEngine,
  ran: readonly Job[],
  skipped: SimulationResult['skipped'],
): SimulationResult {
  const { usage, nowS } = running
  const left = new Set(skipped.map(({ jobId }) => jobId))
  const results = jobs
    .filter(({ id }) => !left.has(id))
    .map((job): JobResult => {
      const { firstStartS, finishS, waitedS, attainedGpuS, restarts, kind } = running.find(job.id)!
      const completionS = finishS - job.arrivalS
      const rho = completionS / (job.iterations * kind.fairIterationS)
      return { job, firstStartS: firstStartS!, finishS, completionS, waitedS, attainedGpuS, restarts, rho }
    })
  const firstArrivalS = ran[0]!.arrivalS
  const gpuS = countGpus(cluster) * (nowS - firstArrivalS)
  const heldGpuS = results.reduce((sum, { attainedGpuS }) => sum + attainedGpuS, 0)
  return {
    ...{ policy, mechanism, jobs: results, skipped, firstArrivalS, lastFinishS: nowS, rounds, events },
    usage: usage.means(),
    idleWhileWaiting: usage.idleWhileWaitingGpuS / gpuS,
    spreadShare: usage.spreadGpuS / heldGpuS,
  }
}
