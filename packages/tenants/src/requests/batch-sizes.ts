/**
 * Returns the batch sizes that a tenant runs: powers of two below its maximum, and the maximum. Other numbers of
 * requests are padded to the next size, as with compiled engines and on the simulated board.
 */
export function batchSizesUpTo(largest: number): number[] {
  const sizes: number[] = []
  for (let size = 1; size < largest; size *= 2) sizes.push(size)
  return [...sizes, largest]
}

/** Returns the smallest batch size of `batchSizesUpTo(largest)` that fits the given number of requests. */
export function sizeFor(requests: number, largest: number): number {
  return batchSizesUpTo(largest).find((size) => size >= requests)!
}
