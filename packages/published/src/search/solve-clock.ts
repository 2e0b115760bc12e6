import { snapDown } from '@pctodl/platform'
import type { AskedModel, PublishedTenants } from './published-model.js'
import type { PublishedSpace } from './search-axes.js'

/** Range of SM clocks in which the published search looks, MHz. It is the same for all boards. */
export const PUBLISHED_CLOCK_RANGE_MHZ = { lowest: 500, highest: 2100 } as const

const PUBLISHED_BISECTIONS = 12

/** A clock is accepted if its predicted power differs from the cap by at most this much, W. */
const PUBLISHED_TOLERANCE_W = 1

/**
 * The published solver for the SM clock at which power meets the cap. It narrows the range around a linear estimate,
 * then bisects at most 12 times. A clock within 1 W of the cap is returned as it is, even if no board supports it. Any
 * other result is rounded down to a clock of the table.
 *
 * @param highMhz SM clock of the previous state, MHz
 * @param raise whether the result may be above `highMhz`
 */
export function solveClock(
  asked: AskedModel,
  { powerCapW, smClocksMhz }: Pick<PublishedSpace, 'powerCapW' | 'smClocksMhz'> & Pick<PublishedSpace, 'memClocksMhz'>,
  tenants: PublishedTenants,
  memClockMhz: number,
  highMhz: number,
  raise: boolean,
): number | undefined {
  const power = (smClockMhz: number) => asked.predict(tenants, smClockMhz, memClockMhz).powerW
  let low: number = PUBLISHED_CLOCK_RANGE_MHZ.lowest
  let high = raise ? PUBLISHED_CLOCK_RANGE_MHZ.highest : Math.min(highMhz, PUBLISHED_CLOCK_RANGE_MHZ.highest)
  if (high < low) return undefined
  const lowW = power(low)
  const highW = power(high)
  if (lowW > powerCapW) return undefined
  if (highW < powerCapW) return snapDown(smClocksMhz, high)
  const spanW = highW - lowW
  if (spanW > 1e-6) {
    const guess = low + ((high - low) * (powerCapW - lowW)) / spanW
    const width = Math.max(100, 0.2 * (high - low))
    const a = Math.max(low, guess - width)
    const b = Math.min(high, guess + width)
    if (power(a) <= powerCapW && powerCapW <= power(b)) {
      low = a
      high = b
    }
  }
  const { clockMhz, isExact } = bisect(power, powerCapW, low, high)
  return isExact ? clockMhz : snapDown(smClocksMhz, clockMhz)
}

/** Halves the interval until the power is within the tolerance of the cap; otherwise returns its lower end. */
export function bisect(
  power: (smClockMhz: number) => number,
  powerCapW: number,
  low: number,
  high: number,
): { readonly clockMhz: number; readonly isExact: boolean } {
  for (let i = 0; i < PUBLISHED_BISECTIONS; i++) {
    const middle = (low + high) / 2
    const middleW = power(middle)
    if (Math.abs(middleW - powerCapW) <= PUBLISHED_TOLERANCE_W) return { clockMhz: middle, isExact: true }
    if (middleW > powerCapW) high = middle
    else low = middle
  }
  return { clockMhz: low, isExact: false }
}
