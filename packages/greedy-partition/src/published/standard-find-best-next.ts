import { type AskedModel, type PublishedState, type PublishedTenants, withTenant } from './published-model.js'
import { candidatePairs, type PublishedSpace } from './search-axes.js'
import { solveClock } from './solve-clock.js'

/** The board with one tenant more. */
export interface PublishedChoice extends PublishedState {
  readonly tenants: PublishedTenants
}

export interface PublishedRound {
  readonly choice: PublishedChoice | undefined
  readonly searched: number
}

/**
 * The tenant of largest gain in throughput per percent of share, each candidate at its own clock and best memory state; the
 * gain may be negative. Ties go to the higher memory state, then the smaller share, then the smaller batch.
 */
export function findBestNextStandard(
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
  for (const [share, batch] of candidatePairs(space, free, tenants.shares.length + 1)) {
    const candidate = withTenant(tenants, share, batch)
    let found: PublishedChoice | undefined
    let throughput = 0
    for (const memClockMhz of memClocks) {
      const raise = memClockMhz < state.memClockMhz
      const smClockMhz = solveClock(asked, space, candidate, memClockMhz, state.smClockMhz, raise)
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
  // The published count takes the pairs of an empty board, whatever the number of tenants.
  return { choice, searched: [...candidatePairs(space, free, 1)].length * memClocks.length }
}
