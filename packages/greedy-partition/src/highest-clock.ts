import type { Prediction, Predictor } from '@pctodl/perf-model'
import { smClocksAt, type Tenant } from '@pctodl/platform'
import { powerToCap } from './bounds.js'
import type { SearchProblem } from './search-problem.js'

export interface SolvedClock {
  readonly smClockMhz: number
  readonly prediction: Prediction
}

/**
 * The highest clock whose power keeps the limit; undefined where the lowest does not. The predictor solves it for mean power.
 * Where it solves in closed form it may land a rounding error above the limit, and with a chance constraint some standard
 * deviations have to fit below the limit too; the limit is hard, so the clock is then walked until it is kept.
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
  // A standard deviation changes little with the clock: where the mean leaves room for the present one is next to the answer.
  const deviationW = top.powerW - top.prediction.powerW
  const guessMhz = deviationW > 0 ? predictor.solveSmClock(tenants, memClockMhz, powerLimitW - deviationW) : highestMhz
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
