import { normalQuantileOfTail } from '@pctodl/numerics'
import type { Prediction, TenantPrediction } from './predictor.js'
import type { Quantity } from './uncertainty/error-terms.js'

/** 99th percentile of the standard normal distribution. */
const LATE = normalQuantileOfTail(0.01)

/** Computes the standard deviation of the logarithm of a predicted quantity. */
type DeviationOf = (quantity: Quantity) => number

/**
 * A prediction that computes its standard deviations when they are read. They take longer than the rest of the
 * prediction, and most callers read none. A copy by spread lacks them; JSON contains them.
 */
export class LazyPrediction implements Prediction {
  readonly #deviationOf: DeviationOf

  constructor(
    readonly throughput: number,
    readonly powerW: number,
    readonly smUtilPercent: number,
    readonly memUtilPercent: number,
    readonly distance: number,
    readonly tenants: readonly TenantPrediction[],
    deviationOf: DeviationOf,
  ) {
    this.#deviationOf = deviationOf
  }

  get throughputSd(): number {
    return this.throughput * this.#deviationOf('throughput')
  }

  get powerSdW(): number {
    return this.powerW * this.#deviationOf('power')
  }

  toJSON(): Prediction {
    const { throughput, powerW, smUtilPercent, memUtilPercent, throughputSd, powerSdW, distance, tenants } = this
    return { throughput, powerW, smUtilPercent, memUtilPercent, throughputSd, powerSdW, distance, tenants }
  }
}

export class LazyTenantPrediction implements TenantPrediction {
  readonly #deviationOf: DeviationOf

  constructor(
    readonly throughput: number,
    readonly latencyMs: number,
    deviationOf: DeviationOf,
  ) {
    this.#deviationOf = deviationOf
  }

  get p99LatencyMs(): number {
    return this.latencyMs * Math.exp(LATE * this.#deviationOf('throughput'))
  }

  toJSON(): TenantPrediction {
    return { ...this, p99LatencyMs: this.p99LatencyMs }
  }
}
