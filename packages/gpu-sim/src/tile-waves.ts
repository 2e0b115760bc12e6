/** Output elements per thread block of the tilings a matrix library chooses from, and the share of the peak each attains. */
const tiles = [
  { elements: 128 * 128, efficiency: 1 },
  { elements: 128 * 64, efficiency: 0.96 },
  { elements: 64 * 64, efficiency: 0.88 },
  { elements: 64 * 32, efficiency: 0.75 },
] as const

/**
 * How much longer a matrix operator takes than its FLOPs alone say, because thread blocks run in whole waves over the
 * SMs: the last wave is rarely full, which is why small batches waste large shares. Libraries choose a smaller tile where
 * that costs less, so the best tiling counts. At least 1.
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
