/** The next round number (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten) at or above a positive one: the top of an axis. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1
  const unit = 10 ** Math.floor(Math.log10(value))
  const factor = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8].find((f) => f * unit >= value * (1 - 1e-12)) ?? 10
  return factor * unit
}
