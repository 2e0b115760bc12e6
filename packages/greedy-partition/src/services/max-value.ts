import type { LayoutBoard } from './layout-board.js'
import type { PlanProblem } from './plan-problem.js'

const WANTED = 0.99
/** Halvings by which a rate is found. */
const HALVINGS = 8
/** What is let in of a service of which nothing is, as a part of its rate: latencies of no requests at all are not defined. */
const NONE = 1e-6

export interface Admitted {
  /** Requests/s that are let in, by service. */
  readonly ratesPerS: readonly number[]
  /** Weighted requests/s. */
  readonly value: number
  readonly powerW: number
}

/**
 * What to let in at a clock: of each service at most what it answers in time beside the others, and then, where that takes too
 * much power, less of those whose requests are worth least a joule.
 *
 * @returns undefined where not even the waiting board keeps the cap
 */
export function maxValue(
  problem: PlanProblem,
  board: Pick<LayoutBoard, 'powerAt'>,
  clockIndex: number,
): Admitted | undefined {
  const { objectives, powerLimitW } = problem
  const rates = [...problem.ratesPerS]
  const attainments = new Float64Array(rates.length)
  const power = () => board.powerAt(clockIndex, rates, attainments)
  /** The most of a service's rate at which something holds. */
  const raise = (i: number, holds: () => boolean) => {
    let low = NONE * problem.ratesPerS[i]!
    let high = rates[i]!
    for (let step = 0; step < HALVINGS; step++) {
      rates[i] = (low + high) / 2
      if (holds()) low = rates[i]!
      else high = rates[i]!
    }
    rates[i] = low
  }

  power()
  const missed = [...attainments.keys()].filter((i) => attainments[i]! < WANTED)
  for (const i of missed) {
    raise(i, () => {
      power()
      return attainments[i]! >= WANTED
    })
  }
  let powerW = power()
  if (powerW > powerLimitW) {
    const worth = rates.map((rate, i) => {
      rates[i] = rate / 2
      const savedW = powerW - power()
      rates[i] = rate
      return (objectives[i]!.weight * rate) / 2 / Math.max(1e-9, savedW)
    })
    const cheapestFirst = [...worth.keys()].sort((a, b) => worth[a]! - worth[b]!)
    for (const i of cheapestFirst) {
      const before = rates[i]!
      rates[i] = NONE * problem.ratesPerS[i]!
      powerW = power()
      if (powerW > powerLimitW) continue
      rates[i] = before
      raise(i, () => power() <= powerLimitW)
      powerW = power()
      break
    }
    if (powerW > powerLimitW) return undefined
  }
  const ratesPerS = rates.map((rate, i) => (rate <= 2 * NONE * problem.ratesPerS[i]! ? 0 : rate))
  const value = ratesPerS.reduce((sum, rate, i) => sum + objectives[i]!.weight * rate, 0)
  return { ratesPerS, value, powerW }
}
