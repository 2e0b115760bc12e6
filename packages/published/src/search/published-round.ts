import { type AskedModel, type PublishedState, type PublishedTenants, withTenant } from './published-model.js'
import { candidatePairs, type PublishedSpace } from './search-axes.js'

/** The tenant to add, which is the last of `tenants`, and the clocks to use with it. */
export interface PublishedChoice extends PublishedState {
  readonly tenants: PublishedTenants
}

export interface PublishedRound {
  readonly choice: PublishedChoice | undefined
  readonly searched: number
}

/**
 * Returns the tenant to add: the one with the largest throughput gain per percent of share, compared at the clocks that
 * suit each candidate best. The gain may be negative. Ties go to the higher memory clock, then the smaller share, then
 * the smaller batch size.
 *
 * @param memClocksMhz the memory clocks to try, from high to low
 * @param clockOf returns the SM clock at which a candidate meets the cap, MHz; undefined if there is none
 */
export function bestNextTenant(
  asked: AskedModel,
  space: PublishedSpace,
  tenants: PublishedTenants,
  free: number,
  state: PublishedState,
  memClocksMhz: readonly number[],
  clockOf: (candidate: PublishedTenants, memClockMhz: number) => number | undefined,
): PublishedChoice | undefined {
  const base = tenants.shares.length === 0 ? 0 : asked.predict(tenants, state.smClockMhz, state.memClockMhz).throughput
  let choice: PublishedChoice | undefined
  let bestScore = Number.NEGATIVE_INFINITY
  for (const [share, batch] of candidatePairs(space, free, tenants.shares.length + 1)) {
    const candidate = withTenant(tenants, share, batch)
    let found: PublishedChoice | undefined
    let throughput = 0
    for (const memClockMhz of memClocksMhz) {
      const smClockMhz = clockOf(candidate, memClockMhz)
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
  return choice
}

/** Memory clocks that a round tries: the current one and those below it, MHz. */
export function memClocksUpTo(space: PublishedSpace, { memClockMhz }: PublishedState): readonly number[] {
  return space.memClocksMhz.filter((clock) => clock <= memClockMhz)
}
