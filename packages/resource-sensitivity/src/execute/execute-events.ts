import type { EngineEvent } from '../engine/engine-event.js'
import type { ScheduleAction } from '../engine/schedule-action.js'
import type { Scheduler } from '../engine/scheduler.js'
import { DueEvents, whoNeverRuns } from '../simulate/due-events.js'
import type { Incident } from '../simulate/simulation-options.js'
import type { Job } from '../trace/job.js'
import type { ScheduleExecutor } from './schedule-executor.js'

export interface ExecuteEventsOptions {
  /** In the order of their arrival. */
  readonly jobs: readonly Job[]
  /** In the order of their times. */
  readonly incidents: readonly Incident[]
  readonly signal?: AbortSignal
  readonly onEvents?: (timeS: number, events: readonly EngineEvent[]) => void
  readonly onActions?: (timeS: number, actions: readonly ScheduleAction[]) => void
}

/** What became of a job that was really run. */
export interface ExecutedJob {
  readonly job: Job
  readonly outcome: 'finished' | 'cancelled'
  /** When it was first given its place; null where it never was. */
  readonly firstPlacedS: number | null
  readonly finishS: number
  /** Finish minus arrival. */
  readonly completionS: number
  /** How often it was started. */
  readonly runs: number
}

/**
 * Let a scheduler run a real cluster until every job is done: the executor says what happens, and carries out what is to be done.
 *
 * @throws the signal's reason when aborted; what the executor throws. Whatever happens, all that runs is ended.
 */
export async function executeEvents(
  engine: Scheduler,
  { jobs, incidents, signal, onEvents, onActions }: ExecuteEventsOptions,
  executor: ScheduleExecutor,
): Promise<ExecutedJob[]> {
  const byId = new Map(jobs.map((job) => [job.id, job]))
  const runs = new Map<number, number>()
  const firstPlacedS = new Map<number, number>()
  const ends = new Map<number, { finishS: number; outcome: ExecutedJob['outcome'] }>()
  const due = new DueEvents(jobs, incidents)
  try {
    while (!due.allArrived || engine.unfinished > 0) {
      const untilS = Math.min(due.nextAtS, engine.wakeAtS)
      if (untilS === Number.POSITIVE_INFINITY && engine.isIdle && executor.awaitsServers !== true) {
        throw whoNeverRuns(engine)
      }
      const events = [...(await executor.next(untilS, signal))]
      const nowS = Math.max(engine.nowS, executor.nowS())
      due.takeUntil(nowS, events)
      if (events.length === 0 && nowS < engine.wakeAtS) continue
      onEvents?.(nowS, events)
      for (const event of events) {
        if ((event.type === 'finished' || event.type === 'cancelled') && !ends.has(event.jobId)) {
          ends.set(event.jobId, { finishS: nowS, outcome: event.type })
        }
      }
      const actions = engine.plan(nowS, events)
      note(actions, nowS)
      if (actions.length > 0) onActions?.(nowS, actions)
      await executor.apply(actions, (jobId) => byId.get(jobId)!, signal)
    }
  } finally {
    await executor.close()
  }
  return jobs.map((job): ExecutedJob => {
    const { finishS, outcome } = ends.get(job.id)!
    return {
      job,
      outcome,
      firstPlacedS: firstPlacedS.get(job.id) ?? null,
      finishS,
      completionS: finishS - job.arrivalS,
      runs: runs.get(job.id) ?? 0,
    }
  })

  function note(actions: readonly ScheduleAction[], nowS: number): void {
    for (const { type, jobId, run } of actions) {
      if (type !== 'place' && type !== 'migrate') continue
      runs.set(jobId, run)
      if (run === 1) firstPlacedS.set(jobId, nowS)
    }
  }
}
