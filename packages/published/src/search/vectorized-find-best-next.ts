import { snapDown } from '@pctodl/platform'
import type { AskedModel, PublishedState, PublishedTenants } from './published-model.js'
import { bestNextTenant, memClocksUpTo, type PublishedRound } from './published-round.js'
import { candidatePairs, type PublishedSpace } from './search-axes.js'
import { bisect, PUBLISHED_CLOCK_RANGE_MHZ } from './solve-clock.js'

/**
 * The published code's second version of the step, vectorised over candidates. It bisects without a linear estimate,
 * and it continues even if the upper bound of the clock is below its lower bound. It compares candidates at clocks that
 * are not in the table, and then rounds the winner's clock down to the table.
 */
export function findBestNextVectorized(
  asked: AskedModel,
  space: PublishedSpace,
  tenants: PublishedTenants,
  free: number,
  state: PublishedState,
): PublishedRound {
  const memClocks = memClocksUpTo(space, state)
  const searched = [...candidatePairs(space, free, tenants.shares.length + 1)].length * memClocks.length
  const choice = bestNextTenant(asked, space, tenants, free, state, memClocks, (candidate, memClockMhz) => {
    const { lowest, highest } = PUBLISHED_CLOCK_RANGE_MHZ
    const high = memClockMhz < state.memClockMhz ? highest : Math.min(state.smClockMhz, highest)
    const power = (clock: number) => asked.predict(candidate, clock, memClockMhz).powerW
    if (power(lowest) > space.powerCapW) return undefined
    return power(high) <= space.powerCapW ? high : bisect(power, space.powerCapW, lowest, high).clockMhz
  })
  if (choice === undefined) return { choice, searched }
  const smClockMhz = snapDown(space.smClocksMhz, choice.smClockMhz)
  // If the winner's clock is below the table's lowest, the published code goes on without a clock and fails.
  return { choice: smClockMhz === undefined ? undefined : { ...choice, smClockMhz }, searched }
}
