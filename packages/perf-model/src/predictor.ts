import type { Configuration, GpuSpec, Tenant } from '@pctodl/platform'
import type { Domain } from './domain.js'

export interface TenantPrediction {
  /** Samples/s. */
  readonly throughput: number
  /** Mean time from the start of a batch to its end, ms. */
  readonly latencyMs: number
  /** Estimate of the 99th percentile of that time, ms; absent where the predictor has none. */
  readonly p99LatencyMs?: number
}

export interface Prediction {
  /** Samples/s over all tenants. */
  readonly throughput: number
  /** Mean board power, W. */
  readonly powerW: number
  /** Share of the time in which any kernel runs, 0..100. */
  readonly smUtilPercent: number
  /** Share of the time in which DRAM is read or written, 0..100. */
  readonly memUtilPercent: number
  /** Standard deviation of the prediction's error, samples/s; absent where the predictor does not know it. */
  readonly throughputSd?: number
  /** Standard deviation of the prediction's error, W; absent where the predictor does not know it. */
  readonly powerSdW?: number
  /**
   * Distance from the measured configurations: the standard deviation due to uncertain parameters and corrections,
   * relative to that of the fit's own rows (99th percentile). A value up to 1 is as well known as the measured rows;
   * absent if the predictor does not know it.
   */
  readonly distance?: number
  /** Predictions per tenant, in the order of the configuration's tenants. */
  readonly tenants: readonly TenantPrediction[]
}

/** Values in the order of the requested probabilities. */
export interface PredictionQuantiles {
  /** Samples/s over all tenants. */
  readonly throughput: readonly number[]
  readonly powerW: readonly number[]
}

/**
 * The interface that searches and controllers use. `PerfModel` implements it; any object of this shape works.
 * Predictions do not depend on the order of the tenants.
 */
export interface Predictor {
  readonly spec: GpuSpec
  /** Memory clocks that the model was fitted at, MHz, descending. */
  readonly memClocksMhz: readonly number[]
  predict(configuration: Configuration): Prediction
  /**
   * The highest SM clock of the board's table at which predicted power is at most `powerCapW`; undefined if even the
   * lowest exceeds it.
   */
  solveSmClock(tenants: readonly Tenant[], memClockMhz: number, powerCapW: number): number | undefined
  /** GPU memory that one tenant process needs, bytes. */
  memoryBytes(tenant: Tenant): number
  /** GPU memory in use apart from the tenants' processes, bytes; absent if the predictor does not know it. */
  readonly reservedMemoryBytes?: number
  /**
   * Power that is exceeded with a given probability, W; absent if the predictor only assumes a normal error around
   * `powerW`.
   */
  upperPowerW?(configuration: Configuration, probability: number): number
  /**
   * Whether a configuration lies within the fitted ranges and the limits of the board; absent if the predictor does not
   * know.
   */
  domain?(configuration: Configuration): Domain
}
