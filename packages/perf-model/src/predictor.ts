import type { Configuration, GpuSpec, Tenant } from '@pctodl/platform'
import type { Domain } from './domain.js'

export interface TenantPrediction {
  /** Samples/s. */
  readonly throughput: number
  /** Mean time from the start of a batch to its end, ms. */
  readonly latencyMs: number
  /** Estimated 99th percentile of the time of a batch, ms; absent if the predictor provides none. */
  readonly p99LatencyMs?: number
}

/**
 * What a predictor returns. `PerfModel` computes the standard deviations and `p99LatencyMs` when they are read, so a copy
 * by spread lacks them.
 */
export interface Prediction {
  /** Throughput of all tenants together, samples/s. */
  readonly throughput: number
  /** Mean board power, W. */
  readonly powerW: number
  /** Percentage of the time in which any kernel runs, 0..100. */
  readonly smUtilPercent: number
  /** Percentage of the time in which DRAM is read or written, 0..100. */
  readonly memUtilPercent: number
  /** Standard deviation of the error of `throughput`, samples/s; absent if the predictor does not know it. */
  readonly throughputSd?: number
  /** Standard deviation of the error of `powerW`, W; absent if the predictor does not know it. */
  readonly powerSdW?: number
  /**
   * Distance from the measured configurations: the standard deviation due to uncertain corrections,
   * divided by the 99th percentile of this standard deviation over the fit's own rows. A configuration at a distance up
   * to 1 is as well known as the measured rows. Absent if the predictor does not know it.
   */
  readonly distance?: number
  /** Predictions per tenant, in the order of the configuration's tenants. */
  readonly tenants: readonly TenantPrediction[]
}

/** Values in the order of the requested probabilities. */
export interface PredictionQuantiles {
  /** Throughput of all tenants together, samples/s. */
  readonly throughput: readonly number[]
  readonly powerW: readonly number[]
}

/**
 * Interface of a predictor for searches and controllers. `PerfModel` implements it; any object of this shape works.
 * Predictions do not depend on the order of the tenants.
 */
export interface Predictor {
  readonly spec: GpuSpec
  /** Memory clocks at which the model was fitted, MHz, descending. */
  readonly memClocksMhz: readonly number[]
  predict(configuration: Configuration): Prediction
  /**
   * The highest SM clock of the board's table at which the predicted power is at most `powerCapW`; undefined if the
   * power exceeds the cap even at the lowest clock. With `exceedanceProbability`, a predictor may return the highest
   * clock at which `upperPowerW` for this probability is within the cap, too; a search is then faster.
   */
  solveSmClock(
    tenants: readonly Tenant[],
    memClockMhz: number,
    powerCapW: number,
    exceedanceProbability?: number,
  ): number | undefined
  /** GPU memory that one tenant process needs, bytes. */
  memoryBytes(tenant: Tenant): number
  /** GPU memory in use apart from the tenants' processes, bytes; absent if the predictor does not know it. */
  readonly reservedMemoryBytes?: number
  /**
   * Power that is exceeded with a given probability, W. Absent if the predictor only assumes a normal error around
   * `powerW`.
   */
  upperPowerW?(configuration: Configuration, probability: number): number
  /**
   * Whether a configuration lies within the fitted ranges and the limits of the board. Absent if the predictor does not
   * know its domain.
   */
  domain?(configuration: Configuration): Domain
}
