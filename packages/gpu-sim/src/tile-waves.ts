/** Output elements per thread block of a matrix library's tilings, and the share of the peak that each attains. */
const tiles = [
  { elements: 128 * 128, efficiency: 1 },
  { elements: 128 * 64, efficiency: 0.96 },
  { elements: 64 * 64, efficiency: 0.88 },
  { elements: 64 * 32, efficiency: 0.75 },
] as const

/**
 * Factor by which a matrix operator takes longer than its FLOPs alone imply, at least 1. Thread blocks run in whole
 * waves over the SMs. The last wave is rarely full, so small batches waste large shares. The result is for the best
 * tiling, since libraries choose a smaller tile where that is faster.
 *
 * @param outputElements of the operator at its batch
 * @param sms streaming multiprocessors of the tenant
 */
export function waveFactor(outputElements: number, sms: number): number {
  let best = Number.POSITIVE_INFINITY
  for (const { elements, efficiency } of tiles) {
    const waves = Math.ceil(outputElements / elements / sms)
    const factor = (waves * sms * elements) / (outputElements * efficiency)
    if (factor < best) best = factor
  }
  return best
}
