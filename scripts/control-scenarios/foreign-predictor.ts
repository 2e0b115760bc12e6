import type { Predictor } from '@pctodl/perf-model'
import { type GpuSpec, smClocksAt } from '@pctodl/platform'

/** Uses the predictor of one board for another board that was not profiled, as an operator in a hurry might do. */
export function foreignPredictor(spec: GpuSpec, predictor: Predictor): Predictor {
  const memClocksMhz = spec.performanceMemClocksMhz.slice(0, predictor.memClocksMhz.length)
  const theirs = (memClockMhz: number) => predictor.memClocksMhz[Math.max(0, memClocksMhz.indexOf(memClockMhz))]!
  const predict: Predictor['predict'] = (configuration) =>
    predictor.predict({ ...configuration, memClockMhz: theirs(configuration.memClockMhz) })
  return {
    spec,
    memClocksMhz,
    predict,
    solveSmClock: (tenants, memClockMhz, powerCapW) =>
      smClocksAt(spec, memClockMhz)!.findLast(
        (smClockMhz) => predict({ tenants, smClockMhz, memClockMhz }).powerW <= powerCapW,
      ),
    memoryBytes: (tenant) => predictor.memoryBytes(tenant),
  }
}
