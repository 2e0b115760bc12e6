import type { Prediction } from '@pctodl/perf-model'
import type { Configuration, GpuSpec } from '@pctodl/platform'
import { SyntheticPredictor } from './synthetic-predictor.js'

/** The synthetic board with a known error of its power: a fraction of the power, with a lower bound. */
export class UncertainPredictor extends SyntheticPredictor {
  constructor(
    spec: GpuSpec,
    readonly relativeSd = 0.03,
  ) {
    super(spec)
  }

  override predict(configuration: Configuration): Prediction {
    const prediction = super.predict(configuration)
    return {
      ...prediction,
      powerSdW: 1 + this.relativeSd * prediction.powerW,
      tenants: prediction.tenants.map((tenant) => ({ ...tenant, p99LatencyMs: 1.4 * tenant.latencyMs })),
    }
  }
}
