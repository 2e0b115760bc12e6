/**
 * Thin a curve to at most two points (lowest and highest value, in their order) per time bucket, so that a picture stays
 * small and loses no peak. Of a stretch of NaN values one is kept, to break the line there.
 *
 * @param visit told of each kept point, in order of time
 */
export function thinCurve(
  timeMs: ArrayLike<number>,
  values: ArrayLike<number>,
  bucketMs: number,
  visit: (timeMs: number, value: number) => void,
): void {
  let low = -1
  let high = -1
  let bucket = -1
  const flush = () => {
    if (low < 0) return
    const first = Math.min(low, high)
    const last = Math.max(low, high)
    visit(timeMs[first]!, values[first]!)
    if (last !== first) visit(timeMs[last]!, values[last]!)
    low = -1
    high = -1
  }
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (Number.isNaN(value)) {
      flush()
      if (i > 0 && !Number.isNaN(values[i - 1]!)) visit(timeMs[i]!, value)
      continue
    }
    const at = Math.floor(timeMs[i]! / bucketMs)
    if (at !== bucket) flush()
    bucket = at
    if (low < 0 || value < values[low]!) low = i
    if (high < 0 || value > values[high]!) high = i
  }
  flush()
}
