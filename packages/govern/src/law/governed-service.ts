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

export interface Interval {
  readonly seconds: number
  readonly clockMhz: number
  /** Mean busy share of the board by NVML, 0..1. */
  readonly busyShare: number
}

const NO_WORK: Work = { full: 0, busy: 0 }
/** Share of the allowed late requests that should become late in the long run. */
const SPENT = 0.5
const FIRST_AIM = 0.6
/** The highest aim is 1: above it, the law would plan with more late requests than the objective allows. */
const LOWEST_AIM = 0.1
/** The aim follows the late requests over `AIM_S` seconds or, at few requests/s, over `AIM_REQUESTS` requests. */
const AIM_S = 60
const AIM_REQUESTS = 100
const PEAK_FACTOR = 1.1

/** Measures one service by its server's counters, and predicts its latencies and work at other clocks. */
export abstract class GovernedService<Sample extends ServiceSample = ServiceSample> {
  readonly goal: ServiceGoal
  readonly rate: ArrivalRate = new ArrivalRate(1)
  work: Work = NO_WORK
  /** Share of late requests in the last interval, 0..1. */
  lateShare = 0
  protected readonly topMhz: number
  /**
   * Share of the allowed late requests with which a forecast may plan. Late requests lower it, and other requests raise
   * it. So the measured share approaches `SPENT`, even if the forecast is wrong.
   */
  #aim = FIRST_AIM
  #before: Sample | null = null
  #arrived = 0

  constructor(goal: ServiceGoal, topMhz: number) {
    this.goal = goal
    this.topMhz = topMhz
  }

  abstract get known(): boolean
  /** Predicted share of requests within the objective; negative if the server cannot answer them all. */
  abstract attainmentAt(smClockMhz: number, perS: number): number
  /** Predicted work at the present rate. */
  abstract workAt(smClockMhz: number): Work
  /** Learns from an interval, and sets its work and its share of late requests. @returns the number of answered requests */
  protected abstract observe(before: Sample, after: Sample, interval: Interval): number

  get aimedLate(): number {
    return this.#aim * (1 - this.goal.attainment)
  }

  /** The rate to prepare for, requests/s. An aim below 1 moves it towards `PEAK_FACTOR` x the peak of the last minutes. */
  get aheadPerS(): number {
    return this.#aim * this.rate.perS + (1 - this.#aim) * PEAK_FACTOR * this.rate.peakPerS
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
    const { known } = this
    const answered = this.observe(before, after, interval)
    if (!known) return
    const late = this.lateShare / (1 - this.goal.attainment)
    const requests = Math.max(AIM_REQUESTS, AIM_S * this.rate.perS)
    const aim = this.#aim * Math.exp(((SPENT - late) * answered) / requests)
    this.#aim = Math.min(1, Math.max(LOWEST_AIM, aim))
  }
}
