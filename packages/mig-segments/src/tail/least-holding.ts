/**
 * Finds by bisection the smallest value from which a condition holds.
 *
 * @param from a value at which it does not hold
 * @param to a value at which it holds
 * @param precision accepted error, as a fraction of the value
 */
export function minHolding(from: number, to: number, precision: number, holds: (value: number) => boolean): number {
  let [low, high] = [from, to]
  while (high - low > precision * high) {
    const middle = (low + high) / 2
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}
