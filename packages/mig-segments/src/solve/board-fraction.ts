import type { SizeCounts } from './size-counts.js'

/**
 * `fewestGpus` without rounding: how much of how many boards a number of segments takes. It tells a search which of two totals
 * with the same number of boards is nearer to one board less.
 */
export function boardFraction(counts: SizeCounts): number {
  const ones = counts[0]!
  const twos = counts[1]!
  const threesLeft = counts[2]! - counts[3]!
  const whole = counts[3]! + counts[4]!
  if (threesLeft <= 0) {
    return whole + Math.max(0, (twos + threesLeft) / 3, (2 * twos + ones + 3 * threesLeft) / 7)
  }
  const pairs = Math.min((2 * threesLeft - twos) / 4, (4 * threesLeft - 2 * twos - ones) / 8, threesLeft / 2)
  if (pairs >= 0) return whole + threesLeft - pairs
  return whole + threesLeft + Math.max(0, (twos - 2 * threesLeft) / 3, (2 * twos + ones - 4 * threesLeft) / 7)
}
