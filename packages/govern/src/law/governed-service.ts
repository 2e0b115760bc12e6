import { ArrivalRate } from '@pctodl/scheduler'
import { type ServiceSample, wasReset } from '../metrics/service-sample.js'
import type { BatchLimits } from '../metrics/triton.js'
import type { Work } from './board-power.js'

export interface ServiceGoal {
  readonly name: string
  readonly objectiveMs: number
  /** Share of the requests that must be answered within `objectiveMs`. */
  readonly attainment: number
  /** Null if the server does not report its batching limits. */
  readonly limits: BatchLimits | null
}

/** Observations of the board between two samples. */
export interface Interval {
  readonly seconds: number
  /** The SM clock at the end of the interval. */
  readonly clockMhz: number
  /** Mean busy share of the board by NVML, 0..1. */
  readonly busyShare: number
}

const NO_WORK: Work = { full: 0, busy: 0 }
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

/** Measures one service by its server's counters, and predicts it at other clocks. */
export abstract class GovernedService<Sample extends ServiceSample = ServiceSample> {
  readonly goal: ServiceGoal
  readonly rate: ArrivalRate = new ArrivalRate(1)
  /** Work of the last interval. */
  work: Work = NO_WORK
  /** Share of late requests in the last interval, 0..1. */
  lateShare = 0
  protected readonly topMhz: number
  /** The SM clock of the last interval, MHz. */
  protected ranMhz = 0
  /**
   * Share of the allowed late requests that the forecast for a clock may contain. Late requests lower this aim, and
   * other requests raise it. So the measured share approaches `SPENT`, even if the forecast is wrong.
   */
  #aim = FIRST_AIM
  #before: Sample | null = null
  /** Number of requests known to have arrived since the server started. */
  #arrived = 0

  constructor(goal: ServiceGoal, topMhz: number) {
    this.goal = goal
    this.topMhz = topMhz
  }

  /** Whether enough was measured to predict. */
  abstract get known(): boolean

  /** Time until a change of the clock shows in the latencies, ms. */
  abstract get shownAfterMs(): number

  /**
   * Predicted share of requests within the objective at a rate, requests/s. It is negative if the server cannot answer
   * them all.
   */
  abstract attainmentAt(smClockMhz: number, perS: number): number

  /** Predicted work at the present rate. */
  abstract workAt(smClockMhz: number): Work

  /** Learns from an interval, and sets its work and its share of late requests. @returns the number of answered requests */
  protected abstract observe(before: Sample, after: Sample, interval: Interval): number

  /** Share of late requests to plan for. */
  get aimedLate(): number {
    return this.#aim * (1 - this.goal.attainment)
  }

  /** The rate to prepare for, requests/s. An aim below 1 moves it towards the peak of the last minutes. */
  get aheadPerS(): number {
    const { perS, peakPerS } = this.rate
    return perS + (1 - this.#aim) * (PEAK_FACTOR * peakPerS - perS)
  }

  /** @param after null if the server does not answer */
  update(after: Sample | null, timeMs: number, interval: Interval): void {
    const before = this.#before
    this.#before = after
    if (before === null || after === null || interval.seconds <= 0 || wasReset(before, after)) {
      this.#arrived = 0
      this.work = NO_WORK
      return
    }
    // A server that counts no running requests seems to have fewer when waiting requests start to run.
    this.#arrived = Math.max(this.#arrived, after.completed + after.failed + after.queued + after.running)
    this.rate.update(timeMs, this.#arrived)
    const wasKnown = this.known
    const answered = this.observe(before, after, interval)
    this.ranMhz = interval.clockMhz
    if (wasKnown) this.#learnAim(answered)
  }

  #learnAim(answered: number): void {
    const late = this.lateShare / (1 - this.goal.attainment)
    const requests = Math.max(AIM_REQUESTS, AIM_S * this.rate.perS)
    const aim = this.#aim * Math.exp(((SPENT - late) * answered) / requests)
    this.#aim = Math.min(HIGHEST_AIM, Math.max(LOWEST_AIM, aim))
  }
}
