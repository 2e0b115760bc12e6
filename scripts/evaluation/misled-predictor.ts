import type { Predictor } from '@pctodl/perf-model'

/** Wraps a predictor so that its power is wrong by a factor. */
export function withModelError(predictor: Predictor, errorPercent: number): Predictor {
  const factor = 1 + errorPercent / 100
  return {
    spec: predictor.spec,
    memClocksMhz: predictor.memClocksMhz,
    predict: (configuration) => {
      const prediction = predictor.predict(configuration)
      return { ...prediction, powerW: prediction.powerW * factor }
    },
    solveSmClock: (tenants, memClockMhz, powerCapW) => predictor.solveSmClock(tenants, memClockMhz, powerCapW / factor),
    memoryBytes: (tenant) => predictor.memoryBytes(tenant),
  }
}
