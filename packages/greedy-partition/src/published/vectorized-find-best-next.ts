import { snapDown } from '@pctodl/platform'
import { type AskedModel, type PublishedState, type PublishedTenants, withTenant } from './published-model.js'
import { candidatePairs, type PublishedSpace } from './search-axes.js'
import { PUBLISHED_BISECTIONS, PUBLISHED_CLOCK_RANGE_MHZ, PUBLISHED_TOLERANCE_W } from './solve-clock.js'
import type { PublishedChoice, PublishedRound } from './standard-find-best-next.js'

/**
 * The published code's second version of the same step, written over arrays of candidates. It bisects the whole bracket, goes
 * on below its own lowest clock, compares candidates at clocks between the board's, and snaps the winner's down afterwards.
 */
export function findBestNextVectorized(
  asked: AskedModel,
  space: PublishedSpace,
  tenants: PublishedTenants,
  free: number,
  state: PublishedState,
): PublishedRound {
  const memClocks = space.memClocksMhz.filter((clock) => clock <= state.memClockMhz)
  const base = tenants.shares.length === 0 ? 0 : asked.predict(tenants, state.smClockMhz, state.memClockMhz).throughput
  let choice: PublishedChoice | undefined
  let bestScore = Number.NEGATIVE_INFINITY
  let searched = 0
  for (const [share, batch] of candidatePairs(space, free, tenants.shares.length + 1)) {
    searched += memClocks.length
    const candidate = withTenant(tenants, share, batch)
    let found: PublishedChoice | undefined
    let throughput = 0
    for (const memClockMhz of memClocks) {
      const highest = PUBLISHED_CLOCK_RANGE_MHZ.highest
      const high = memClockMhz < state.memClockMhz ? highest : Math.min(state.smClockMhz, highest)
      const smClockMhz = bisect((clock) => asked.predict(candidate, clock, memClockMhz).powerW, space.powerCapW, high)
      if (smClockMhz === undefined) continue
      const there = asked.predict(candidate, smClockMhz, memClockMhz).throughput
      if (there > throughput) {
        throughput = there
        found = { tenants: candidate, smClockMhz, memClockMhz }
      }
    }
    const score = (throughput - base) / share
    if (found !== undefined && score > bestScore) {
      bestScore = score
      choice = found
    }
  }
  if (choice === undefined) return { choice, searched }
  const smClockMhz = snapDown(space.smClocksMhz, choice.smClockMhz)
  // Below the table's lowest clock the published code goes on without a clock, and fails.
  return { choice: smClockMhz === undefined ? undefined : { ...choice, smClockMhz }, searched }
}

function bisect(power: (smClockMhz: number) => number, powerCapW: number, highMhz: number): number | undefined {
  let low: number = PUBLISHED_CLOCK_RANGE_MHZ.lowest
  let high = highMhz
  if (power(low) > powerCapW) return undefined
  if (power(high) <= powerCapW) return high
  for (let i = 0; i < PUBLISHED_BISECTIONS; i++) {
    const middle = (low + high) / 2
    const middleW = power(middle)
    if (Math.abs(middleW - powerCapW) <= PUBLISHED_TOLERANCE_W) return middle
    if (middleW > powerCapW) high = middle
    else low = middle
  }
  return low
}
