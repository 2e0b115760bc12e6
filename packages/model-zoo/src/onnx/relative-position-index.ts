/**
 * Row of the bias table for each pair (i, j) of the `size` x `size` positions of a window; i is the outer index. How
 * the row follows from (dy, dx), the step from j to i, is described at `relativePositionBias`.
 */
export function relativePositionIndex(size: number): readonly number[] {
  const positions = size * size
  return Array.from({ length: positions * positions }, (_, pair) => {
    const i = Math.floor(pair / positions)
    const j = pair % positions
    const dy = Math.floor(i / size) - Math.floor(j / size)
    const dx = (i % size) - (j % size)
    return (dy + size - 1) * (2 * size - 1) + dx + size - 1
  })
}
