import { ArrivalRate } from '@pctodl/scheduler'
import { type BatchLimits, type ServiceSample, since, wasReset } from '../metrics/service-sample.js'
import type { Work } from './board-power.js'
import type { Arrivals, Forecast, Interval } from './forecast.js'
import { HistogramForecast } from './histogram-forecast.js'
import { QueueForecast } from './queue-forecast.js'

export interface ServiceGoal {
  readonly name: string
  readonly objectiveMs: number
  /** Share of the requests that must be answered within `objectiveMs`. */
  readonly attainment: number
  /** Null if the server does not report its batching limits. */
  readonly limits: BatchLimits | null
}

const NO_WORK: Work = { full: 0, busy: 0 }
/**
 * To estimate late requests, waits within an interval are assumed uniform between 0 and this multiple of their mean.
 */
const WAIT_SPREAD = 2.2
/** Share of the allowed late requests that should become late in the long run. */
const SPENT = 0.5
const FIRST_AIM = 0.6
/**
 * Bounds of the aim. With an aim above 1, the law would plan with more late requests than the objective allows. The aim
 * follows the late requests over `AIM_S` seconds or, at few requests/s, over `AIM_REQUESTS` requests.
 */
const [LOWEST_AIM, HIGHEST_AIM] = [0.1, 1]
const AIM_S = 60
const AIM_REQUESTS = 100
/** With the lowest aim, the law prepares for the peak rate times this factor. */
const PEAK_FACTOR = 1.1

/** Measures one service by its server's counters: its rate, its queue and its late requests. */
export class GovernedService {
  readonly goal: ServiceGoal
  readonly forecast: Forecast
  /** Work of the last interval. */
  work: Work = NO_WORK
  /** Share of late requests in the last interval, 0..1. */
  lateShare = 0
  /**
   * Share of the allowed late requests that the forecast for a clock may contain. Late requests lower this aim, and
   * other requests raise it. So the measured share approaches `SPENT`, even if the forecast is wrong.
   */
  #aim = FIRST_AIM
  readonly #rate = new ArrivalRate(1)
  #before: ServiceSample | null = null
  #queued = 0
  /** Number of requests known to have arrived since the server started. */
  #arrived = 0

  constructor(goal: ServiceGoal, topMhz: number) {
    this.goal = goal
    const { limits, objectiveMs } = goal
    this.forecast =
      limits === null ? new HistogramForecast(objectiveMs, topMhz) : new QueueForecast(limits, objectiveMs, topMhz)
  }

  /** The present arrivals. */
  get now(): Arrivals {
    return { perS: this.#rate.perS, burstiness: this.#rate.burstiness }
  }

  /** The arrivals to prepare for. An aim below 1 moves their rate towards the peak of the last minutes. */
  get ahead(): Arrivals {
    const { perS, burstiness } = this.now
    return { perS: perS + (1 - this.#aim) * (PEAK_FACTOR * this.#rate.peakPerS - perS), burstiness }
  }

  /** Share of late requests to plan for. */
  get aimedLate(): number {
    return this.#aim * (1 - this.goal.attainment)
  }

  /** Whether waiting requests are answered within this share of the objective at a clock. */
  drainsAt(smClockMhz: number, share: number): boolean {
    return this.forecast.drainsAt(smClockMhz, this.#queued, share * this.goal.objectiveMs)
  }

  /** Starts again from a server's first counters after a restart or a gap. Fitted models are kept. */
  rebase(sample: ServiceSample | null): void {
    this.#before = sample
    this.#arrived = 0
    this.work = NO_WORK
  }

  update(
    after: ServiceSample,
    timeMs: number,
    interval: Pick<Interval, 'seconds' | 'isSteady' | 'busyShare'> & { readonly clockMhz: number | null },
  ): void {
    const before = this.#before
    const judged = before?.judged && after.judged && since(before.judged, after.judged)
    // If a server restarted or its buckets changed, its counters are not comparable.
    if (before === null || wasReset(before, after) || (judged === null && after.judged !== null)) {
      this.rebase(after)
      return
    }
    this.#before = after
    // If the objective is per token, several latencies count for one request.
    const perRequest = after.judged === null ? 1 : after.completed / Math.max(1, after.judged.counts.at(-1)!)
    const counted = judged == null ? after.completed - before.completed : judged.counts.at(-1)!
    this.lateShare = counted > 0 ? this.#lateOf(before, after, counted) / counted : 0
    this.#queued = after.queued + (after.running ?? 0)
    // Without a count of running requests, the sum falls when waiting requests start to run.
    this.#arrived = Math.max(this.#arrived, after.completed + after.failed + this.#queued)
    this.#rate.update(timeMs, this.#arrived)
    const answered = counted * perRequest
    this.#learnAim(answered)
    const { clockMhz } = interval
    if (clockMhz === null) return
    const ratePerS = this.#rate.perS
    this.work = this.forecast.observe({
      ...interval,
      before,
      after,
      clockMhz,
      answered,
      judged: judged ?? null,
      ratePerS,
    })
  }

  /** Number of late requests between two samples; estimated if the server does not count them. */
  #lateOf(before: ServiceSample, after: ServiceSample, answered: number): number {
    if (after.late !== null && before.late !== null) return after.late - before.late
    if (after.waitMs === null || before.waitMs === null) return 0
    const waitMs = (after.waitMs - before.waitMs) / answered
    const runMs = (after.latencyMs - before.latencyMs) / answered - waitMs
    const share = 1 - (this.goal.objectiveMs - runMs) / (WAIT_SPREAD * waitMs)
    return Number.isFinite(share) ? answered * Math.min(1, Math.max(0, share)) : 0
  }

  #learnAim(answered: number): void {
    if (!this.forecast.known) return
    const late = this.lateShare / (1 - this.goal.attainment)
    const requests = Math.max(AIM_REQUESTS, AIM_S * this.#rate.perS)
    const aim = this.#aim * Math.exp(((SPENT - late) * answered) / requests)
    this.#aim = Math.min(HIGHEST_AIM, Math.max(LOWEST_AIM, aim))
  }
}
