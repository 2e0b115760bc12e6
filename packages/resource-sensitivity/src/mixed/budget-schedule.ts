import { InvalidInputError } from '@pctodl/platform'
import type { EngineEvent } from '../engine/engine-event.js'
import type { ScheduleAction } from '../engine/schedule-action.js'
import { assertJob } from '../engine/scheduling-options.js'
import type { ImpossibleJobError } from '../errors.js'
import { type ExecutedJob, executeEvents } from '../execute/execute-events.js'
import type { ScheduleExecutor } from '../execute/schedule-executor.js'
import { playSchedule } from '../simulate/play-schedule.js'
import type { Incident } from '../simulate/simulation-options.js'
import type { Job } from '../trace/job.js'
import { BudgetEngine } from './budget-engine.js'
import { type BudgetEngineOptions, checkBudgetOptions, whyImpossible } from './budget-options.js'
import { assertIncidents } from './check-events.js'

/** A trace of jobs on a cluster of unequal GPUs within a budget of watts. */
export interface BudgetScheduleOptions extends BudgetEngineOptions {
  readonly jobs: readonly Job[]
  /** What befalls the cluster meanwhile: events `budget`, failed servers, reservations. */
  readonly incidents?: readonly Incident[]
  /** Leave out jobs that no server could run and tell them, instead of ending with the first. Default false. */
  readonly skipImpossible?: boolean
  /** Told of what the engine wants done, whenever that is anything. */
  readonly onActions?: (timeS: number, actions: readonly ScheduleAction[]) => void
}

export interface SimulateBudgetOptions extends BudgetScheduleOptions {
  /** How long a run that was told to stop keeps drawing until it has left, s. Default 0. */
  readonly stopS?: number
}

export interface BudgetedJobResult {
  readonly job: Job
  /** Null where it was cancelled before. */
  readonly firstStartS: number | null
  /** Or when it was cancelled. */
  readonly finishS: number
  /** Finish minus arrival. */
  readonly completionS: number
  readonly restarts: number
  readonly attainedGpuS: number
  /** Above idle, J. */
  readonly energyJ: number
}

export interface BudgetScheduleResult {
  /** Every job that could run, in the order of arrival. */
  readonly jobs: readonly BudgetedJobResult[]
  readonly skipped: readonly ImpossibleJobError[]
  readonly lastFinishS: number
  readonly meanCompletionS: number
  /** Of all GPUs from the first arrival on, idle ones included, J. */
  readonly energyJ: number
  /** Drawn from each moment on, and what was allowed, W. */
  readonly power: readonly { readonly fromS: number; readonly powerW: number; readonly powerBudgetW: number }[]
}

/**
 * Run a trace on a cluster of unequal GPUs within a budget of watts, in a world where all goes as the profiles say.
 *
 * @throws InvalidInputError, UnknownNameError, ImpossibleJobError
 */
export function simulateUnderBudget(options: SimulateBudgetOptions): BudgetScheduleResult {
  const { stopS = 0, onActions } = options
  if (!(stopS >= 0 && Number.isFinite(stopS))) throw new InvalidInputError('stopS', stopS, 'seconds of at least 0')
  const { jobs, incidents, skipped, idleW } = checkSchedule(options)
  const { arrivalS } = jobs[0]!
  const startS = Math.min(arrivalS, incidents[0]?.atS ?? Number.POSITIVE_INFINITY)
  const engine = new BudgetEngine(options, startS)
  const power: { fromS: number; powerW: number; powerBudgetW: number }[] = []
  playSchedule(engine, {
    ...{ jobs, incidents, stopS },
    onPlanned: (fromS, actions) => {
      if (actions.length > 0) onActions?.(fromS, actions)
      // Plans of one moment are one.
      if (power.at(-1)?.fromS === fromS) power.pop()
      power.push({ fromS, powerW: engine.powerW, powerBudgetW: engine.powerBudgetW })
    },
  })
  const results = jobs.map(({ id }): BudgetedJobResult => {
    const { job, firstStartS, finishS, run, attainedGpuS, energyJ } = engine.jobs.get(id)!
    const completionS = finishS! - job.arrivalS
    return { job, firstStartS, finishS: finishS!, completionS, restarts: Math.max(0, run - 1), attainedGpuS, energyJ }
  })
  return {
    ...{ jobs: results, skipped, power },
    lastFinishS: Math.max(...results.map(({ finishS }) => finishS)),
    meanCompletionS: results.reduce((sum, { completionS }) => sum + completionS, 0) / results.length,
    // Nothing ran before.
    energyJ: engine.energyJ - idleW * (arrivalS - startS),
  }
}

export interface ExecuteBudgetOptions extends Omit<BudgetScheduleOptions, 'limitsChange'> {
  readonly signal?: AbortSignal
  /** Told of all that the engine is told: with the times a journal, from which the same engine says the same again. */
  readonly onEvents?: (timeS: number, events: readonly EngineEvent[]) => void
}

/**
 * The same on a real cluster, by an executor. Limits of running jobs change where the executor can change them.
 *
 * @throws as `simulateUnderBudget`; the signal's reason when aborted; what the executor throws. Whatever happens, all that runs is ended.
 */
export async function executeUnderBudget(
  options: ExecuteBudgetOptions,
  executor: ScheduleExecutor,
): Promise<ExecutedJob[]> {
  const { jobs, incidents } = checkSchedule(options)
  const engine = new BudgetEngine({ ...options, limitsChange: executor.changesLimits === true })
  return await executeEvents(engine, { ...options, jobs, incidents }, executor)
}

function checkSchedule(options: BudgetScheduleOptions) {
  const { jobs, incidents = [], skipImpossible = false } = options
  const checked = checkBudgetOptions(options)
  const ids = new Set<number>()
  for (const job of jobs) {
    if (ids.has(job.id)) throw new InvalidInputError('jobs', job.id, 'ids of their own')
    ids.add(job.id)
    assertJob(job, checked.models)
  }
  if (jobs.length === 0) throw new InvalidInputError('jobs', 'none', 'at least one job')
  const skipped = jobs.flatMap((job) => whyImpossible(checked, job) ?? [])
  if (skipped.length > 0 && !skipImpossible) throw skipped[0]!
  const left = new Set(skipped.map(({ jobId }) => jobId))
  if (left.size === jobs.length) {
    throw new InvalidInputError('jobs', `${jobs.length} that can never run`, 'at least one that the cluster can run')
  }
  const possible = jobs.filter(({ id }) => !left.has(id))
  assertIncidents(incidents, checked, possible)
  return {
    skipped,
    idleW: checked.idleW,
    jobs: possible.sort((a, b) => a.arrivalS - b.arrivalS || a.id - b.id),
    incidents: [...incidents].sort((a, b) => a.atS - b.atS),
  }
}
