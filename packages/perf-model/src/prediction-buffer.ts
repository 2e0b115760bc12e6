import { MAX_MPS_CLIENTS } from '@pctodl/platform'

/** Where `predictInto` writes; make one with `predictionBuffer` and use it again and again. */
export interface PredictionBuffer {
  throughput: number
  powerW: number
  smUtilPercent: number
  memUtilPercent: number
  throughputSd: number
  powerSdW: number
  /** Samples/s; entries beyond the configuration's tenants keep old values. */
  readonly tenantThroughput: Float64Array
  readonly tenantLatencyMs: Float64Array
}

export function predictionBuffer(): PredictionBuffer {
  return {
    throughput: 0,
    powerW: 0,
    smUtilPercent: 0,
    memUtilPercent: 0,
    throughputSd: 0,
    powerSdW: 0,
    tenantThroughput: new Float64Array(MAX_MPS_CLIENTS),
    tenantLatencyMs: new Float64Array(MAX_MPS_CLIENTS),
  }
}
