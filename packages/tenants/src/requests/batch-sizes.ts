/**
 * The batch sizes that a tenant runs: powers of two up to its maximum, and the maximum itself, as for compiled engines
 * and on the simulated board. A smaller batch is padded to the next size.
 */
export function batchSizesUpTo(largest: number): number[] {
  const sizes: number[] = []
  for (let size = 1; size < largest; size *= 2) sizes.push(size)
  return [...sizes, largest]
}

/** The smallest of these sizes that holds this many requests. */
export function sizeFor(requests: number, largest: number): number {
  return batchSizesUpTo(largest).find((size) => size >= requests)!
}
