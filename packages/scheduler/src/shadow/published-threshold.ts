/**
 * The adaptive threshold of the published shadow optimizer: the relative gain that it demands after a number of updates. It
 * starts at -10 %, so in its first 500 windows it accepts predicted losses. Kept for comparison.
 */
export function publishedThreshold(updates: number): number {
  const progress = Math.min(1, updates / 1500)
  if (progress < 1 / 3) return -0.1 * (1 - 3 * progress)
  return 0.02 * (1 - Math.exp((-4 * (progress - 1 / 3)) / (2 / 3)))
}
