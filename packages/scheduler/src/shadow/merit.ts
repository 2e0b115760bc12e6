import type { Predictor } from '@pctodl/perf-model'
import { type Configuration, smClocksAt } from '@pctodl/platform'

/** Predicted elasticities outside these are artefacts of a flat power curve. */
const LEAST_ELASTICITY = 0
const MOST_ELASTICITY = 3

/**
 * Throughput at exactly the target power, samples/s: what a configuration is worth without the luck of where its clock states
 * lie. Along the clock, throughput goes about as power to the power of e, and the predictor knows e.
 *
 * @param throughput at `powerW`, measured or predicted
 */
export function throughputAtTarget(
  predictor: Predictor,
  configuration: Configuration,
  throughput: number,
  powerW: number,
  targetW: number,
): number {
  return throughput * (targetW / powerW) ** elasticity(predictor, configuration)
}

/** d ln throughput / d ln power along the SM clock, over the states next to the present clock. */
function elasticity(predictor: Predictor, { tenants, smClockMhz, memClockMhz }: Configuration): number {
  const clocks = smClocksAt(predictor.spec, memClockMhz)!
  let upper = clocks.findIndex((clock) => clock > smClockMhz)
  if (upper < 0) upper = clocks.length - 1
  const low = predictor.predict({ tenants, memClockMhz, smClockMhz: clocks[Math.max(0, upper - 2)]! })
  const high = predictor.predict({ tenants, memClockMhz, smClockMhz: clocks[upper]! })
  const rise = Math.log(high.powerW / low.powerW)
  if (!(rise > 1e-9)) return LEAST_ELASTICITY
  const slope = Math.log(high.throughput / low.throughput) / rise
  return Math.min(MOST_ELASTICITY, Math.max(LEAST_ELASTICITY, slope))
}
