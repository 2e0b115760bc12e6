/** Probability that is used instead of 0. */
const NEVER = 1e-12

/**
 * Stationary distribution of a Markov chain by elimination without subtraction (Grassmann, Taksar and Heyman, 1985). A
 * state without a transition to an earlier state gets such a transition with negligible probability.
 *
 * @param moves transition probabilities, row-major; overwritten
 * @param shares receives the distribution
 */
export function balanced(moves: Float64Array, count: number, shares: Float64Array): void {
  for (let last = count - 1; last > 0; last--) {
    let out = 0
    for (let to = 0; to < last; to++) out += moves[last * count + to]!
    if (out <= 0) {
      moves[last * count] = NEVER
      out = NEVER
    }
    for (let from = 0; from < last; from++) {
      const into = moves[from * count + last]! / out
      moves[from * count + last] = into
      if (into === 0) continue
      for (let to = 0; to < last; to++) moves[from * count + to]! += into * moves[last * count + to]!
    }
  }
  shares[0] = 1
  let total = 1
  for (let state = 1; state < count; state++) {
    let share = 0
    for (let from = 0; from < state; from++) share += shares[from]! * moves[from * count + state]!
    shares[state] = share
    total += share
  }
  for (let state = 0; state < count; state++) shares[state]! /= total
}
