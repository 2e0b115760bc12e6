import type { SeededRandom } from './seeded-random.js'

/** A copy in random order (Fisher and Yates). */
export function shuffled<T>(values: readonly T[], random: SeededRandom): T[] {
  const order = [...values]
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.integer(i + 1)
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}
