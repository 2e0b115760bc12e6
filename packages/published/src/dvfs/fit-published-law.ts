import { InvalidInputError } from '@pctodl/platform'
import type { PublishedPowerLaw } from './published-power-law.js'

/**
 * Fits the published power law to a model's power. The static part is 0. The law is exact at the lowest and the highest
 * clock; its exponent minimises the squared error at the clocks between them.
 *
 * @param smClocksMhz ascending
 * @param powersW the model's power at each clock, W
 * @throws InvalidInputError for fewer than two clocks, or if power at the highest clock is not above power at the
 *   lowest
 */
export function fitPublishedLaw(smClocksMhz: readonly number[], powersW: ArrayLike<number>): PublishedPowerLaw {
  const count = smClocksMhz.length
  if (count < 2 || powersW.length !== count) {
    throw new InvalidInputError(
      'powersW.length',
      powersW.length,
      `one power for each of at least two clocks (${count})`,
    )
  }
  const lowest = smClocksMhz[0]!
  const reference = smClocksMhz[count - 1]!
  const base = powersW[0]!
  const span = powersW[count - 1]! - base
  if (!(span > 0))
    throw new InvalidInputError('powersW', powersW[count - 1], `a power above ${base} W at the highest clock`)
  const squaredError = (gamma: number) => {
    let sum = 0
    for (let i = 1; i < count - 1; i++) {
      const position = (smClocksMhz[i]! - lowest) / (reference - lowest)
      sum += (base + span * position ** gamma - powersW[i]!) ** 2
    }
    return sum
  }
  return {
    d3: 0,
    d2: 0,
    d1: 0,
    d0: 0,
    gamma: goldenSection(squaredError, 0.5, 6),
    basePowerW: base,
    dynamicPowerAtReferenceW: base + span,
    lowestClockMhz: lowest,
    referenceClockMhz: reference,
  }
}

function goldenSection(cost: (x: number) => number, low: number, high: number): number {
  const ratio = (Math.sqrt(5) - 1) / 2
  let left = high - ratio * (high - low)
  let right = low + ratio * (high - low)
  let leftCost = cost(left)
  let rightCost = cost(right)
  for (let i = 0; i < 60; i++) {
    if (leftCost <= rightCost) {
      high = right
      right = left
      rightCost = leftCost
      left = high - ratio * (high - low)
      leftCost = cost(left)
    } else {
      low = left
      left = right
      leftCost = rightCost
      right = low + ratio * (high - low)
      rightCost = cost(right)
    }
  }
  return (low + high) / 2
}
