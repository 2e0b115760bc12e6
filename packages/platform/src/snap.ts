/**
 * Returns the highest state that is at most `mhz`; undefined if every state is above it. `states` must be ascending.
 */
export function snapDown(states: readonly number[], mhz: number): number | undefined {
  let low = 0
  let high = states.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (states[middle]! <= mhz) low = middle + 1
    else high = middle
  }
  return low > 0 ? states[low - 1] : undefined
}

/**
 * Returns the lowest state that is at least `mhz`; undefined if every state is below it. `states` must be ascending.
 */
export function snapUp(states: readonly number[], mhz: number): number | undefined {
  return states.find((state) => !(state < mhz))
}

/**
 * Returns the state nearest to `mhz`; of two equally near ones, the lower. Undefined for an empty table. `states` must
 * be ascending.
 */
export function snapNearest(states: readonly number[], mhz: number): number | undefined {
  const below = snapDown(states, mhz)
  const above = snapUp(states, mhz)
  if (below === undefined) return above
  if (above === undefined) return below
  return mhz - below <= above - mhz ? below : above
}
