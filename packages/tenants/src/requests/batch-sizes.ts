/**
 * The batch sizes that a tenant runs: powers of two up to its largest, and that, as engines are compiled and as the simulated board
 * has it. A batch of fewer requests is filled up to the next.
 */
export function batchSizesUpTo(largest: number): number[] {
  const sizes: number[] = []
  for (let size = 1; size < largest; size *= 2) sizes.push(size)
  return [...sizes, largest]
}

/** The smallest of these sizes in which so many requests have room. */
export function sizeFor(requests: number, largest: number): number {
  return batchSizesUpTo(largest).find((size) => size >= requests)!
}
