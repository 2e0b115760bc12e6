import type { SeededRandom } from '@pctodl/numerics'

/** An exponential variate of mean 1, by inversion. */
export function exponential(random: SeededRandom): number {
  return -Math.log(1 - random.uniform())
}

/**
 * A gamma variate of scale 1, by squeezed rejection from a cubed normal variate (Marsaglia and Tsang, ACM Trans. Math.
 * Softw. 26(3), 2000). For a shape below 1, a variate of shape + 1 is drawn and scaled down.
 *
 * @param shape above 0
 */
export function gamma(random: SeededRandom, shape: number): number {
  if (shape < 1) return gamma(random, shape + 1) * (1 - random.uniform()) ** (1 / shape)
  const d = shape - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (;;) {
    const x = random.normal()
    const root = 1 + c * x
    if (root <= 0) continue
    const v = root * root * root
    if (Math.log(1 - random.uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v
  }
}
