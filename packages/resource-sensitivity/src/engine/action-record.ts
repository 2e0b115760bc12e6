import { isSameGrant, isSamePlacement } from './assignments.js'
import { type JobTable, RUNNING } from './job-table.js'
import type { Seat } from './plan.js'
import type { Grant, PreemptReason, ScheduleAction } from './schedule-action.js'

interface Told extends Grant {
  readonly placement: readonly Seat[]
  /** The only server by the engine's own number, -1 where there are several. */
  readonly server: number
}

/** Knows what an executor was told of every job, and so what it must be told next. */
export class ActionRecord {
  readonly #table: JobTable
  readonly #seatsOf: (job: number) => Seat[]
  readonly #told = new Map<number, Told>()
  readonly #runs = new Map<number, number>()
  readonly #reasons = new Map<number, PreemptReason>()
  /** Jobs whose server has failed since. */
  readonly #lost = new Set<number>()

  constructor(table: JobTable, seatsOf: (job: number) => Seat[]) {
    this.#table = table
    this.#seatsOf = seatsOf
  }

  /** A job's run is over by itself: there is nothing left to stop. @returns whether there was one */
  ended(job: number): boolean {
    return this.#told.delete(job)
  }

  hasTold(job: number): boolean {
    return this.#told.has(job)
  }

  /** How often a job was started. */
  runsOf(job: number): number {
    return this.#runs.get(job) ?? 0
  }

  /** Jobs that run there as far as an executor knows: also those whose place was taken away since. */
  toldOn(server: number): number[] {
    return [...this.#told].flatMap(([job, { placement }]) =>
      placement.some((seat) => seat.server === server) ? [job] : [],
    )
  }

  /** Why a job will be told to stop, where it is not the policy's will. */
  because(job: number, reason: PreemptReason): void {
    this.#reasons.set(job, reason)
    if (reason === 'server-failed') this.#lost.add(job)
  }

  /** Where who leaves must have left before others begin: tell all to stop whose place was taken away or is another. */
  dismiss(
    touched: Iterable<number>,
    note: (job: number, run: number, servers: readonly number[], isLost: boolean) => void,
    servers: (placement: readonly Seat[]) => readonly number[],
  ): ScheduleAction[] {
    return [...touched].flatMap((job): ScheduleAction[] => {
      const told = this.#told.get(job)
      const isLost = this.#lost.has(job)
      const runsNow = this.#table.state[job] === RUNNING
      if (told === undefined || (runsNow && !isLost && isSamePlacement(told.placement, this.#seatsOf(job)))) return []
      this.#told.delete(job)
      const run = this.#runs.get(job)!
      note(job, run, servers(told.placement), isLost)
      return [{ type: 'preempt', jobId: this.#table.jobs[job]!.id, run, reason: this.#reasons.get(job) ?? 'policy' }]
    })
  }

  /** What to tell of the jobs whose place or share may have changed. */
  take(
    touched: Iterable<number>,
    isPending: (job: number) => boolean = () => false,
    limitsOf: (job: number) => readonly number[] | undefined = () => undefined,
  ): ScheduleAction[] {
    const leaving: ScheduleAction[] = []
    const shrinking: ScheduleAction[] = []
    const moving: ScheduleAction[] = []
    const starting: ScheduleAction[] = []
    const growing: ScheduleAction[] = []
    for (const job of touched) {
      const { id: jobId } = this.#table.jobs[job]!
      const told = this.#told.get(job)
      const runsNow = this.#table.state[job] === RUNNING
      if (isPending(job)) continue
      if (!runsNow) {
        if (told === undefined) continue
        this.#told.delete(job)
        const reason = this.#reasons.get(job) ?? 'policy'
        leaving.push({ type: 'preempt', jobId, run: this.#runs.get(job)!, reason })
        continue
      }
      const cpusPerGpu = this.#table.cpusPerGpu[job]!
      const memoryGbPerGpu = this.#table.memoryGbPerGpu[job]!
      const powerLimitsW = limitsOf(job)
      const grant: Grant = { cpusPerGpu, memoryGbPerGpu, ...(powerLimitsW && { powerLimitsW }) }
      const server = this.#table.server[job]!
      const isLost = this.#lost.has(job)
      const stays = told !== undefined && server >= 0 && told.server === server && !isLost
      if (stays && isSameGrant(told, grant)) continue
      const placement = stays ? told.placement : this.#seatsOf(job)
      if (told === undefined) {
        const run = this.#nextRun(job)
        starting.push({ type: 'place', jobId, run, placement, ...grant })
      } else if (!isSamePlacement(told.placement, placement)) {
        const run = this.#nextRun(job)
        moving.push({ type: 'migrate', jobId, run, from: told.placement, placement, ...grant })
      } else if (isLost) {
        // The server is back already, but its run is not: this is another.
        leaving.push({ type: 'preempt', jobId, run: this.#runs.get(job)!, reason: 'server-failed' })
        starting.push({ type: 'place', jobId, run: this.#nextRun(job), placement, ...grant })
      } else if (!isSameGrant(told, grant)) {
        const isLower = powerLimitsW?.some((limitW, i) => limitW < (told.powerLimitsW?.[i] ?? Number.POSITIVE_INFINITY))
        const hasMore = cpusPerGpu > told.cpusPerGpu || memoryGbPerGpu > told.memoryGbPerGpu
        const grows = powerLimitsW === undefined ? hasMore : !isLower
        const list = grows ? growing : shrinking
        list.push({ type: 'resize', jobId, run: this.#runs.get(job)!, ...grant })
      } else continue
      this.#told.set(job, { placement, server, ...grant })
    }
    this.#reasons.clear()
    this.#lost.clear()
    return [...leaving, ...shrinking, ...moving, ...starting, ...growing]
  }

  #nextRun(job: number): number {
    const run = (this.#runs.get(job) ?? 0) + 1
    this.#runs.set(job, run)
    return run
  }
}
