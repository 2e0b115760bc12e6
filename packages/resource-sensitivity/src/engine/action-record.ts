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
  /** Servers of the job in the engine's numbering. */
  readonly servers: readonly number[]
}

/** What a power budget says of running jobs. */
export interface PowerLimits {
  /** Whether a seated job still waits for its watts. */
  isPending(job: EngineJob): boolean
  /** Power limit of each seat, W. */
  limitsOf(job: EngineJob): readonly number[] | undefined
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

  /** Under a power budget, stops every job that lost its placement: it must exit before other jobs start. */
  dismiss(
    touched: Iterable<EngineJob>,
    note: (job: EngineJob, servers: readonly number[], isLost: boolean) => void,
  ): ScheduleAction[] {
    return [...touched].flatMap((job): ScheduleAction[] => {
      const told = this.#told.get(job)
      const isLost = this.#lost.has(job)
      const isRunning = job.state === 'running'
      if (told === undefined || (isRunning && !isLost && isSamePlacement(told.placement, this.#seatsOf(job)))) return []
      note(job, told.servers, isLost)
      return [this.#stop(job)]
    })
  }

  /** Returns the actions for jobs whose placement or share may have changed. */
  take(touched: Iterable<EngineJob>, power?: PowerLimits): ScheduleAction[] {
    const leaving: ScheduleAction[] = []
    const shrinking: ScheduleAction[] = []
    const moving: ScheduleAction[] = []
    const starting: ScheduleAction[] = []
    const growing: ScheduleAction[] = []
    for (const job of touched) {
      const { id: jobId, cpusPerGpu, memoryGbPerGpu, server } = job
      const told = this.#told.get(job)
      if (power?.isPending(job)) continue
      if (job.state !== 'running') {
        if (told !== undefined) leaving.push(this.#stop(job))
        continue
      }
      const powerLimitsW = power?.limitsOf(job)
      const grant: Grant = { cpusPerGpu, memoryGbPerGpu, ...(powerLimitsW && { powerLimitsW }) }
      const isLost = this.#lost.has(job)
      const stays = told?.servers.length === 1 && told.servers[0] === server && !isLost
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
      this.#told.set(job, { placement, servers: job.placement!.servers, ...grant })
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
