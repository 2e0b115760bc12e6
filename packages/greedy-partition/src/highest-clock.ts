import type { Prediction, Predictor } from '@pctodl/perf-model'
import { smClocksAt, type Tenant } from '@pctodl/platform'
import { powerToCap } from './bounds.js'
import type { SearchProblem } from './search-problem.js'

export interface SolvedClock {
  readonly smClockMhz: number
  readonly prediction: Prediction
}

/**
 * Find the highest clock at which `powerToCap` is within the limit; undefined if the power exceeds the limit even at
 * the lowest clock. The predictor solves for mean power only: its result may exceed the limit by rounding, and a chance
 * constraint needs extra margin. The clock is therefore stepped until the limit holds.
 */
export function highestClock(
  predictor: Predictor,
  problem: SearchProblem,
  tenants: readonly Tenant[],
  memClockMhz: number,
): SolvedClock | undefined {
  const { powerLimitW } = problem
  const highestMhz = predictor.solveSmClock(tenants, memClockMhz, powerLimitW)
  if (highestMhz === undefined) return undefined
  const at = (smClockMhz: number) => {
    const configuration = { tenants, smClockMhz, memClockMhz }
    const prediction = predictor.predict(configuration)
    return { smClockMhz, prediction, powerW: powerToCap(predictor, problem, configuration, prediction) }
  }
  const top = at(highestMhz)
  if (top.powerW <= powerLimitW) return top

  const clocks = smClocksAt(predictor.spec, memClockMhz)!
  const topIndex = clocks.indexOf(highestMhz)
  // The margin is nearly the same fraction of the power at every clock, so the answer is next to this clock.
  const guessMhz = predictor.solveSmClock(tenants, memClockMhz, (powerLimitW * top.prediction.powerW) / top.powerW)
  let index = guessMhz === undefined ? 0 : clocks.indexOf(guessMhz)
  let found = at(clocks[index]!)
  if (found.powerW <= powerLimitW) {
    while (index + 1 < topIndex) {
      const higher = at(clocks[++index]!)
      if (higher.powerW > powerLimitW) break
      found = higher
    }
    return found
  }
  while (--index >= 0) {
    found = at(clocks[index]!)
    if (found.powerW <= powerLimitW) return found
  }
  return undefined
}
