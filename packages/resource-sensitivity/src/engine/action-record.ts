import {
  type Grant,
  isSameGrant,
  isSamePlacement,
  type PreemptReason,
  type ScheduleAction,
  type Seat,
} from './actions.js'
import type { EngineJob } from './engine-job.js'

interface Told extends Grant {
  readonly placement: readonly Seat[]
  /** The server of a job that runs on a single server, in the engine's numbering; -1 for a job on several servers. */
  readonly server: number
}

/** Records the last action requested for each job, and derives the next actions from it. */
export class ActionRecord {
  readonly #seatsOf: (job: EngineJob) => Seat[]
  readonly #told = new Map<EngineJob, Told>()
  readonly #reasons = new Map<EngineJob, PreemptReason>()
  readonly #lost = new Set<EngineJob>()

  constructor(seatsOf: (job: EngineJob) => Seat[]) {
    this.#seatsOf = seatsOf
  }

  /** Records that a run ended by itself and need not be stopped. @returns whether the job had such a run */
  ended(job: EngineJob): boolean {
    return this.#told.delete(job)
  }

  hasTold(job: EngineJob): boolean {
    return this.#told.has(job)
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

  /**
   * Stops every job whose placement was removed or changed. Used under a power budget, where these jobs must exit
   * before others start.
   */
  dismiss(
    touched: Iterable<EngineJob>,
    note: (job: EngineJob, run: number, servers: readonly number[], isLost: boolean) => void,
    servers: (placement: readonly Seat[]) => readonly number[],
  ): ScheduleAction[] {
    return [...touched].flatMap((job): ScheduleAction[] => {
      const told = this.#told.get(job)
      const isLost = this.#lost.has(job)
      const isRunning = job.state === 'running'
      if (told === undefined || (isRunning && !isLost && isSamePlacement(told.placement, this.#seatsOf(job)))) return []
      note(job, job.runs, servers(told.placement), isLost)
      return [this.#stop(job)]
    })
  }

  /** Returns the actions for jobs whose placement or share may have changed. */
  take(
    touched: Iterable<EngineJob>,
    isPending: (job: EngineJob) => boolean = () => false,
    limitsOf: (job: EngineJob) => readonly number[] | undefined = () => undefined,
  ): ScheduleAction[] {
    const leaving: ScheduleAction[] = []
    const shrinking: ScheduleAction[] = []
    const moving: ScheduleAction[] = []
    const starting: ScheduleAction[] = []
    const growing: ScheduleAction[] = []
    for (const job of touched) {
      const { id: jobId, cpusPerGpu, memoryGbPerGpu, server } = job
      const told = this.#told.get(job)
      if (isPending(job)) continue
      if (job.state !== 'running') {
        if (told !== undefined) leaving.push(this.#stop(job))
        continue
      }
      const powerLimitsW = limitsOf(job)
      const grant: Grant = { cpusPerGpu, memoryGbPerGpu, ...(powerLimitsW && { powerLimitsW }) }
      const isLost = this.#lost.has(job)
      const stays = told !== undefined && server >= 0 && told.server === server && !isLost
      if (stays && isSameGrant(told, grant)) continue
      const placement = stays ? told.placement : this.#seatsOf(job)
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
        const hasMore = cpusPerGpu > told.cpusPerGpu || memoryGbPerGpu > told.memoryGbPerGpu
        const list = (powerLimitsW === undefined ? hasMore : !isLower) ? growing : shrinking
        list.push({ type: 'resize', jobId, run: job.runs, ...grant })
      } else continue
      this.#told.set(job, { placement, server, ...grant })
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
