import type { Latencies, ServiceSample } from '../metrics/service-sample.js'
import type { Work } from './board-power.js'

/** Observations of one service between two samples. */
export interface Interval {
  readonly before: ServiceSample
  readonly after: ServiceSample
  readonly seconds: number
  /** The SM clock at the end of the interval. */
  readonly clockMhz: number
  /** Whether the clock was the same at the beginning. */
  readonly isSteady: boolean
  /** Mean busy share of the board by NVML, 0..1. */
  readonly busyShare: number
  readonly answered: number
  /** Latencies of the interval; null if the server has no histogram. */
  readonly judged: Latencies | null
  /** Arrival rate, requests/s. */
  readonly ratePerS: number
}

/** Arrivals to plan for. `burstiness` is the variance of their number in an interval, divided by its mean. */
export interface Arrivals {
  readonly perS: number
  readonly burstiness: number
}

/** Predicts a service at other clocks and rates, from its server's counters. */
export interface Forecast {
  /** Whether enough was measured to predict. */
  readonly known: boolean
  /** Time until a change of the clock shows in the latencies, ms. */
  readonly shownAfterMs: number
  /** @returns the work of the interval */
  observe(interval: Interval): Work
  /**
   * Predicted share of requests within the objective, 0..1. If the rate exceeds the capacity, it is negative: minus the
   * share of the rate beyond the capacity.
   */
  attainmentAt(smClockMhz: number, arrivals: Arrivals): number
  /** Whether waiting requests can be answered within a time. */
  drainsAt(smClockMhz: number, queued: number, ms: number): boolean
  workAt(smClockMhz: number, arrivals: Arrivals): Work
}
