import type { Job } from '../trace.js'
import type { EngineJob, Seat } from './engine-job.js'

export interface Grant {
  readonly cpusPerGpu: number
  readonly memoryGbPerGpu: number
  /** Power limit of each GPU, W, one number per seat of the placement; absent without a power budget. */
  readonly powerLimitsW?: readonly number[]
}

interface OfRun {
  readonly jobId: number
  /** Number of the job's start, from 1. */
  readonly run: number
}

export type PlaceAction = OfRun & Grant & { readonly type: 'place'; readonly placement: readonly Seat[] }

/**
 * An action that the engine requests. An executor that has already started run 2 of a job ignores a repeated request to
 * start run 2 or to end run 1.
 *
 * The actions of one plan belong together. Leaving jobs must exit before arriving jobs have enough free GPUs, and watts
 * must be released before other jobs get them.
 *
 * - `resize` changes the CPU, memory or power of a job that stays where it is.
 * - `preempt` stops a job. It saves its progress and releases all resources.
 * - `migrate` stops run `run - 1` of a job and starts the next run on other servers.
 */
export type ScheduleAction =
  | PlaceAction
  | (OfRun & Grant & { readonly type: 'resize' })
  | (OfRun & { readonly type: 'preempt'; readonly reason: PreemptReason })
  | (Omit<PlaceAction, 'type'> & { readonly type: 'migrate'; readonly from: readonly Seat[] })

/** Why a job is stopped. `policy`: another job has priority. `budget`: the power budget is too small. */
export type PreemptReason = 'policy' | 'server-failed' | 'server-draining' | 'cancelled' | 'budget'

export interface Plan {
  readonly timeS: number
  readonly running: readonly PlannedJob[]
  readonly waiting: readonly number[]
}

export interface PlannedJob extends Grant {
  readonly jobId: number
  readonly placement: readonly Seat[]
  /** Throughput relative to the model's base point, without the spread penalty. */
  readonly throughput: number
}

export function isSameGrant(a: Grant, b: Grant): boolean {
  return (
    a.cpusPerGpu === b.cpusPerGpu &&
    a.memoryGbPerGpu === b.memoryGbPerGpu &&
    a.powerLimitsW?.join() === b.powerLimitsW?.join()
  )
}

function isSamePlacement(a: readonly Seat[], b: readonly Seat[]): boolean {
  return a.length === b.length && a.every(({ server, gpus }, i) => server === b[i]!.server && gpus === b[i]!.gpus)
}

/**
 * Input of the engine. Events without news (a finished job finishes, a failed server fails) change nothing, so reports
 * may be repeated. The exception is `stopped`, which names no run: repeated after the job has restarted, it ends the
 * new run.
 *
 * - `submitted`: a job wants to run from now on.
 * - `finished`: its work is done, at `atS` if that is known to be earlier. `cancelled`: it is no longer wanted.
 * - `stopped`: it ended without having finished and without a request (a crash, a lost process). It waits again and
 * resumes from `doneIterations`, or by default from its last checkpoint.
 * - `progressed`: the amount of work done. `saved`: that progress is in a checkpoint and survives a server failure.
 * - `server-failed`: jobs there wait again and resume from their last checkpoint. `server-draining`: the server accepts
 * nothing new, and its jobs are told to save and exit; a failed server stays failed. `server-returned`: it is back from
 * either state.
 * - `left`: a run that was told to stop has exited. Needed only with a power budget: until then its watts are not given
 * to others.
 * - `budget`: the power limit of the cluster from `fromS` on (default: now). A fall announced in advance can be
 * prepared for.
 */
export type EngineEvent =
  | { readonly type: 'submitted'; readonly job: Job }
  | { readonly type: 'finished' | 'cancelled'; readonly jobId: number; readonly atS?: number }
  | { readonly type: 'stopped'; readonly jobId: number; readonly doneIterations?: number }
  | { readonly type: 'progressed'; readonly jobId: number; readonly doneIterations: number; readonly saved?: boolean }
  | { readonly type: 'server-failed' | 'server-draining' | 'server-returned'; readonly server: number }
  | { readonly type: 'left'; readonly jobId: number; readonly run: number }
  | { readonly type: 'budget'; readonly powerBudgetW: number; readonly fromS?: number }

interface Told extends Grant {
  readonly placement: readonly Seat[]
}

/** Records the last action requested for each job, and derives the next actions from it. */
export class ActionRecord {
  readonly #limitsOf: (job: EngineJob) => readonly number[] | undefined
  readonly #told = new Map<EngineJob, Told>()
  readonly #reasons = new Map<EngineJob, PreemptReason>()
  readonly #lost = new Set<EngineJob>()

  /** @param limitsOf power limit of each seat, W; undefined without a power budget */
  constructor(limitsOf: (job: EngineJob) => readonly number[] | undefined) {
    this.#limitsOf = limitsOf
  }

  /** Records that a run ended by itself and need not be stopped. @returns whether the job had such a run */
  ended(job: EngineJob): boolean {
    return this.#told.delete(job)
  }

  /** Whether a job has a run on the seats that it has now. */
  isInPlace(job: EngineJob): boolean {
    const told = this.#told.get(job)
    return told !== undefined && isSamePlacement(told.placement, job.seats)
  }

  /** Returns the jobs that the executor still runs on a server. A job that lost its place in this plan is included. */
  toldOn(server: number): EngineJob[] {
    const told = [...this.#told].filter(([, { placement }]) => placement.some((seat) => seat.server === server))
    return told.map(([job]) => job)
  }

  /** Sets the reason for stopping a job, if that is not a decision of the policy. */
  because(job: EngineJob, reason: PreemptReason): void {
    this.#reasons.set(job, reason)
    if (reason === 'server-failed') this.#lost.add(job)
  }

  /** Under a power budget, stops every job that lost its placement: it must exit before other jobs start. */
  dismiss(
    touched: Iterable<EngineJob>,
    note: (job: EngineJob, placement: readonly Seat[], isLost: boolean) => void,
  ): ScheduleAction[] {
    return [...touched].flatMap((job): ScheduleAction[] => {
      const told = this.#told.get(job)
      const isLost = this.#lost.has(job)
      const isRunning = job.state === 'running'
      if (told === undefined || (isRunning && !isLost && this.isInPlace(job))) return []
      note(job, told.placement, isLost)
      return [this.#stop(job)]
    })
  }

  /** Returns the actions for jobs whose placement or share may have changed. */
  take(touched: Iterable<EngineJob>): ScheduleAction[] {
    const leaving: ScheduleAction[] = []
    const shrinking: ScheduleAction[] = []
    const moving: ScheduleAction[] = []
    const starting: ScheduleAction[] = []
    const growing: ScheduleAction[] = []
    for (const job of touched) {
      const { id: jobId, server, share } = job
      const told = this.#told.get(job)
      if (job.state !== 'running') {
        if (told !== undefined) leaving.push(this.#stop(job))
        continue
      }
      const powerLimitsW = this.#limitsOf(job)
      const grant: Grant = {
        ...{ cpusPerGpu: share.cpus, memoryGbPerGpu: share.memoryGb },
        ...(powerLimitsW && { powerLimitsW }),
      }
      const isLost = this.#lost.has(job)
      const stays = told?.placement.length === 1 && told.placement[0]!.server === server && !isLost
      if (stays && isSameGrant(told, grant)) continue
      const placement = stays ? told.placement : job.seats
      if (told === undefined) {
        starting.push({ type: 'place', jobId, run: ++job.runs, placement, ...grant })
      } else if (!isSamePlacement(told.placement, placement)) {
        moving.push({ type: 'migrate', jobId, run: ++job.runs, from: told.placement, placement, ...grant })
      } else if (isLost) {
        // The server is back, but the old run is lost: start a new one.
        leaving.push(this.#stop(job, 'server-failed'))
        starting.push({ type: 'place', jobId, run: ++job.runs, placement, ...grant })
      } else if (!isSameGrant(told, grant)) {
        const isLower = powerLimitsW?.some((limitW, i) => limitW < (told.powerLimitsW?.[i] ?? Number.POSITIVE_INFINITY))
        const hasMore = share.cpus > told.cpusPerGpu || share.memoryGb > told.memoryGbPerGpu
        const list = (powerLimitsW === undefined ? hasMore : !isLower) ? growing : shrinking
        list.push({ type: 'resize', jobId, run: job.runs, ...grant })
      } else continue
      this.#told.set(job, { placement, ...grant })
    }
    this.#reasons.clear()
    this.#lost.clear()
    return [...leaving, ...shrinking, ...moving, ...starting, ...growing]
  }

  #stop(job: EngineJob, reason: PreemptReason = this.#reasons.get(job) ?? 'policy'): ScheduleAction {
    this.#told.delete(job)
    return { type: 'preempt', jobId: job.id, run: job.runs, reason }
  }
}
