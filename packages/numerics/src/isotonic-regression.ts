/**
 * Replaces a sequence by the nearest non-decreasing sequence in the least-squares sense, in place, by pooling adjacent
 * violators (Ayer et al., "An empirical distribution function for sampling with incomplete information", 1955).
 */
export function makeNonDecreasing(values: Float64Array): void {
  const level: number[] = []
  const width: number[] = []
  for (const value of values) {
    level.push(value)
    width.push(1)
    for (let last = level.length - 1; last > 0 && level[last - 1]! > level[last]!; last--) {
      const total = width[last - 1]! + width[last]!
      level[last - 1] = (level[last - 1]! * width[last - 1]! + level[last]! * width[last]!) / total
      width[last - 1] = total
      level.pop()
      width.pop()
    }
  }
  let at = 0
  level.forEach((value, i) => {
    values.fill(value, at, at + width[i]!)
    at += width[i]!
  })
}
