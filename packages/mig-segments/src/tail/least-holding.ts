/** By halves, the least value from which something holds on: it does at `to`, and not at `from`. @param precision share of the value */
export function minHolding(from: number, to: number, precision: number, holds: (value: number) => boolean): number {
  let [low, high] = [from, to]
  while (high - low > precision * high) {
    const middle = (low + high) / 2
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}
