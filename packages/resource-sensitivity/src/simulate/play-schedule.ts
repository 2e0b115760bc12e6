import type { EngineEvent } from '../engine/engine-event.js'
import type { ScheduleAction } from '../engine/schedule-action.js'
import type { Scheduler } from '../engine/scheduler.js'
import type { Job } from '../trace/job.js'
import { DueEvents, whoNeverRuns } from './due-events.js'
import type { Incident } from './simulation-options.js'

export interface PlayOptions {
  /** In the order of their arrival. */
  readonly jobs: readonly Job[]
  /** In the order of their times. */
  readonly incidents: readonly Incident[]
  /** How long a run that was told to stop takes to leave, s; null where nobody waits for that. */
  readonly stopS: number | null
  readonly onPlanned: (nowS: number, actions: readonly ScheduleAction[]) => void
}

/** Let a scheduler run in a world where all goes as the profiles say, until every job is done. Time jumps from event to event. */
export function playSchedule(engine: Scheduler, { jobs, incidents, stopS, onPlanned }: PlayOptions): void {
  const due = new DueEvents(jobs, incidents)
  const leaving: { readonly atS: number; readonly event: EngineEvent }[] = []
  while (!due.allArrived || engine.unfinished > 0) {
    const leftAtS = leaving[0]?.atS ?? Number.POSITIVE_INFINITY
    const nowS = Math.min(due.nextAtS, leftAtS, engine.nextFinishS, engine.wakeAtS)
    if (nowS === Number.POSITIVE_INFINITY) throw whoNeverRuns(engine)
    const events = engine.expectedToFinishBy(nowS).map((jobId): EngineEvent => ({ type: 'finished', jobId }))
    while (leaving.length > 0 && leaving[0]!.atS <= nowS) events.push(leaving.shift()!.event)
    due.takeUntil(nowS, events)
    const actions = engine.plan(nowS, events)
    if (stopS !== null) {
      for (const { type, jobId, run } of actions) {
        if (type === 'preempt') leaving.push({ atS: nowS + stopS, event: { type: 'left', jobId, run } })
      }
    }
    onPlanned(nowS, actions)
  }
}
