import type { BudgetedJob, Intended } from './budgeted-job.js'
import { chooseSeat, type SeatQuestion, worthOf } from './choose-seat.js'
import type { SeatOption } from './seat-option.js'

/** Jobs looked at to exchange their places. */
const MOST_EXCHANGED = 8
/** Gains below are none. */
const NO_GAIN = 1e-9

export interface SeatingRules {
  /** For a job, were nobody seated. */
  readonly questionOf: (job: BudgetedJob) => SeatQuestion
  /** Of a job's least way, above idle, W. */
  readonly leastWatts: (job: BudgetedJob, option: SeatOption) => number
  /** What all gain together, once those who are seated have their part of the watts. */
  readonly gainOf: (seated: readonly (readonly [BudgetedJob, Intended])[]) => number
}

/** Seats that are tried out: taken as long as this lasts. Call `undo` in the end. */
export class Seating {
  readonly #rules: SeatingRules
  readonly #held = new Map<BudgetedJob, Intended & { readonly gpus: readonly number[] }>()

  constructor(rules: SeatingRules) {
    this.#rules = rules
  }

  get seated(): (readonly [BudgetedJob, Intended])[] {
    return [...this.#held]
  }

  holds(job: BudgetedJob): boolean {
    return this.#held.has(job)
  }

  /** Seat whoever finds room, the first first. */
  fill(waiting: readonly BudgetedJob[]): void {
    for (const job of waiting) {
      if (this.#held.has(job)) continue
      // A queue may be long, and all that follow would look in vain.
      if (!this.#hasRoom(job)) return
      this.#add(job)
    }
  }

  /**
   * Let those who are seated look again where, as long as all together gain: all, those first to whom the type of GPU matters most; then
   * each alone, and in pairs of which the second chooses first.
   */
  improve(): void {
    const all = [...this.#held.keys()]
    if (all.length === 1) return
    const mattering = new Map(all.map((job) => [job, this.#mattersTo(job)]))
    let gain = this.#rules.gainOf(this.seated)
    const jobs = all.slice(0, MOST_EXCHANGED)
    const pairs = jobs.flatMap((a, i) => [[a], ...jobs.slice(i + 1).map((b) => [b, a])])
    for (const movers of [all.toSorted((a, b) => mattering.get(b)! - mattering.get(a)!), ...pairs]) {
      const before = movers.map((job) => [job, this.#held.get(job)!] as const)
      for (const [job] of before) this.#remove(job)
      const better = movers.every((job) => this.#add(job)) ? this.#rules.gainOf(this.seated) : Number.NEGATIVE_INFINITY
      if (better > gain + NO_GAIN) {
        gain = better
        continue
      }
      for (const job of movers) this.#remove(job)
      for (const [job, place] of before) this.#put(job, place)
    }
  }

  /** What the best type is worth above the worst, for each GPU. */
  #mattersTo(job: BudgetedJob): number {
    const question = { ...this.#rules.questionOf(job), mostWatts: Number.POSITIVE_INFINITY }
    const worths = [...job.byType.values()].map((options) =>
      Math.max(0, ...options.map((option) => worthOf(job, option, question))),
    )
    return (Math.max(...worths) - Math.min(...worths)) / job.job.gpus
  }

  /** Give all seats back. */
  undo(): void {
    for (const job of [...this.#held.keys()]) this.#remove(job)
  }

  #hasRoom(job: BudgetedJob): boolean {
    const { servers, seats } = this.#rules.questionOf(job)
    return servers.some((_, server) => seats.freeGpus(server) > 0)
  }

  #add(job: BudgetedJob): boolean {
    const { questionOf, leastWatts } = this.#rules
    const asked = questionOf(job)
    const spentW = [...this.#held].reduce((sum, [each, { option }]) => sum + leastWatts(each, option), 0)
    const question = { ...asked, mostWatts: asked.mostWatts - spentW }
    const place = intendedPlace(job, question) ?? chooseSeat(job, question)
    if (place === null) return false
    this.#put(job, place)
    return true
  }

  #put(job: BudgetedJob, { server, option }: Intended): void {
    const { seats } = this.#rules.questionOf(job)
    const gpus = seats.take(server, { gpus: job.job.gpus, ...option })
    this.#held.set(job, { server, option, gpus })
  }

  #remove(job: BudgetedJob): void {
    const held = this.#held.get(job)
    if (held === undefined) return
    const { seats } = this.#rules.questionOf(job)
    seats.give(held.server, held.gpus, { gpus: job.job.gpus, ...held.option })
    this.#held.delete(job)
  }
}

/** The place that others left for a job, where it is free now. */
function intendedPlace(job: BudgetedJob, question: SeatQuestion): Intended | null {
  const place = job.intended
  if (place === null || worthOf(job, place.option, question) === Number.NEGATIVE_INFINITY) return null
  return question.seats.fits(place.server, { gpus: job.job.gpus, ...place.option }) ? place : null
}
