import { type LayoutBoard, WANTED } from './layout-board.js'
import type { PlanProblem } from './plan-problem.js'

/** Bisection steps for an admitted rate. */
const HALVINGS = 8
/**
 * Fraction of its rate at which a service counts as fully shed. It is not 0, because latencies are undefined without
 * any requests.
 */
const NONE = 1e-6

export interface Admitted {
  /** Admitted requests/s, by service. */
  readonly ratesPerS: readonly number[]
  /** Sum of weight x requests/s. */
  readonly value: number
  readonly powerW: number
}

/**
 * Choose the admitted rates at a clock. Each service gets at most the rate that it answers within its objective beside
 * the other services. If the power then exceeds the limit, services whose requests have the least value per joule are
 * reduced first.
 *
 * @returns undefined if even the idle board exceeds the limit
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
  /** Raise a service's rate as far as a condition holds. */
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
    const perJoule = rates.map((rate, i) => {
      rates[i] = rate / 2
      const savedW = powerW - power()
      rates[i] = rate
      return (objectives[i]!.weight * rate) / 2 / Math.max(1e-9, savedW)
    })
    const cheapestFirst = [...perJoule.keys()].sort((a, b) => perJoule[a]! - perJoule[b]!)
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
