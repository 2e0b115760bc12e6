import type { AskedModel, PublishedState, PublishedTenants } from './published-model.js'
import { bestNextTenant, memClocksUpTo, type PublishedRound } from './published-round.js'
import { candidatePairs, type PublishedSpace } from './search-axes.js'
import { solveClock } from './solve-clock.js'

/**
 * One step of the published search: finds the best tenant to add. Candidates are compared at the clocks that
 * `solveClock` returns.
 */
export function findBestNextStandard(
  asked: AskedModel,
  space: PublishedSpace,
  tenants: PublishedTenants,
  free: number,
  state: PublishedState,
): PublishedRound {
  const memClocks = memClocksUpTo(space, state)
  const choice = bestNextTenant(asked, space, tenants, free, state, memClocks, (candidate, memClockMhz) =>
    solveClock(asked, space, candidate, memClockMhz, state.smClockMhz, memClockMhz < state.memClockMhz),
  )
  // The published count covers the candidates of an empty board, whatever the number of tenants is.
  return { choice, searched: [...candidatePairs(space, free, 1)].length * memClocks.length }
}
