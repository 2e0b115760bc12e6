/**
 * Returns the index of the highest clock state whose power is within a limit; -1 if even the lowest exceeds it. Power
 * must rise with the clock. The search alternates between interpolation and bisection, so that a curved function cannot
 * slow it down.
 *
 * @param top index of the highest state that may be chosen
 * @param bottom index of the lowest state that may be chosen
 */
export function highestStateWithin(
  top: number,
  limitW: number,
  powerAt: (index: number) => number,
  bottom = 0,
): number {
  let highW = powerAt(top)
  if (highW <= limitW) return top
  if (top === bottom) return -1
  let lowW = powerAt(bottom)
  if (lowW > limitW) return -1
  let low = bottom
  let high = top
  for (let step = 0; high - low > 1; step++) {
    const share = step % 2 === 0 ? (limitW - lowW) / (highW - lowW) : 0.5
    const index = Math.min(high - 1, Math.max(low + 1, Math.round(low + share * (high - low))))
    const powerW = powerAt(index)
    if (powerW <= limitW) {
      low = index
      lowW = powerW
    } else {
      high = index
      highW = powerW
    }
  }
  return low
}
