import type { Configuration, GpuSpec, Tenant } from '@pctodl/platform'
import type { Domain } from './domain.js'
import type { MixBounds } from './mix-bounds.js'

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
   * How far the configuration lies from what was measured: the standard deviation of what the fit does not know there (its
   * parameters and corrections), in that of its own rows (their 99th percentile). Up to 1 is as well known as measured; absent
   * where the predictor does not know it.
   */
  readonly distance?: number
  /** In the order of the configuration's tenants. */
  readonly tenants: readonly TenantPrediction[]
}

/** In the order of the probabilities that were asked for. */
export interface PredictionQuantiles {
  /** Samples/s over all tenants. */
  readonly throughput: readonly number[]
  readonly powerW: readonly number[]
}

/**
 * What searches and controllers need to know of a board. `PerfModel` is ours; anything with this shape will do.
 * Predictions do not depend on the order of the tenants.
 */
export interface Predictor {
  readonly spec: GpuSpec
  /** Memory clocks that the model was fitted at, MHz, descending. */
  readonly memClocksMhz: readonly number[]
  predict(configuration: Configuration): Prediction
  /**
   * The highest SM clock of the board's table at which predicted power is at most `powerCapW`; undefined where even the
   * lowest is above it.
   */
  solveSmClock(tenants: readonly Tenant[], memClockMhz: number, powerCapW: number): number | undefined
  /** GPU memory that one tenant process needs, bytes. */
  memoryBytes(tenant: Tenant): number
  /** GPU memory that is in use beside the tenants' processes, bytes; absent where the predictor does not know it. */
  readonly reservedMemoryBytes?: number
  /** Power that the truth exceeds with a probability, W; absent where the predictor knows no more than that it is normal around `powerW`. */
  upperPowerW?(configuration: Configuration, probability: number): number
  /** Whether a configuration lies within what the predictor was fitted to and the board has; absent where it does not know. */
  domain?(configuration: Configuration): Domain
  /**
   * What tenants do at best in any mix, kind k being `tenants[k]`; absent or undefined where the predictor has no laws to tell it by.
   *
   * @throws what `predict` throws of a tenant
   */
  mixBounds?(tenants: readonly Tenant[]): MixBounds | undefined
}
