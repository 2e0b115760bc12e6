import type { Prediction, Predictor } from '@pctodl/perf-model'
import { smClocksAt, type Tenant } from '@pctodl/platform'
import { powerToCap } from './plan-risk.js'
import type { SearchProblem } from './search-problem.js'

export interface SolvedClock {
  readonly smClockMhz: number
  readonly prediction: Prediction
}

/**
 * Find the highest clock at which `powerToCap` is within the limit; undefined if the power exceeds the limit even at
 * the lowest clock. The predictor's answer may exceed the limit by rounding, or because the predictor solves for the
 * mean power only. The clocks below it are then searched, because power rises with the clock.
 */
export function highestClock(
  predictor: Predictor,
  problem: SearchProblem,
  tenants: readonly Tenant[],
  memClockMhz: number,
): SolvedClock | undefined {
  const { powerLimitW, riskOfEach } = problem
  const highestMhz = predictor.solveSmClock(tenants, memClockMhz, powerLimitW, riskOfEach)
  if (highestMhz === undefined) return undefined
  const within = (smClockMhz: number): SolvedClock | undefined => {
    const configuration = { tenants, smClockMhz, memClockMhz }
    const prediction = predictor.predict(configuration)
    const powerW = powerToCap(predictor, configuration, prediction, riskOfEach)
    return powerW <= powerLimitW ? { smClockMhz, prediction } : undefined
  }
  let found = within(highestMhz)
  if (found !== undefined) return found
  const clocks = smClocksAt(predictor.spec, memClockMhz)!
  let low = -1
  let high = clocks.indexOf(highestMhz)
  while (high - low > 1) {
    const middle = (low + high) >> 1
    const tried = within(clocks[middle]!)
    if (tried === undefined) high = middle
    else {
      low = middle
      found = tried
    }
  }
  return found
}
