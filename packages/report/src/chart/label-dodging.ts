/**
 * Move labels apart vertically: each as near to its wish as the order allows, at least `gap` from its neighbours and within
 * 0..`height` where there is room for all of them.
 *
 * @returns the positions in the order of `wishes`
 */
export function dodgeLabels(wishes: readonly number[], gap: number, height: number): number[] {
  const order = wishes.map((_, i) => i).sort((a, b) => wishes[a]! - wishes[b]! || a - b)
  const placed = order.map((i) => wishes[i]!)
  for (let k = 1; k < placed.length; k++) placed[k] = Math.max(placed[k]!, placed[k - 1]! + gap)
  let limit = height
  for (let k = placed.length - 1; k >= 0; k--) {
    placed[k] = Math.min(placed[k]!, limit)
    limit = placed[k]! - gap
  }
  const positions = new Array<number>(wishes.length)
  order.forEach((i, k) => {
    positions[i] = placed[k]!
  })
  return positions
}
