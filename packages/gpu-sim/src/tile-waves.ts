/**
 * Tiles that matrix libraries use: output elements per thread block, and the share of the peak that each tile attains.
 */
const tiles = [
  { elements: 128 * 128, efficiency: 1 },
  { elements: 128 * 64, efficiency: 0.96 },
  { elements: 64 * 64, efficiency: 0.88 },
  { elements: 64 * 32, efficiency: 0.75 },
] as const

/**
 * Factor, at least 1, by which a matrix operator takes longer than its FLOPs alone imply. Thread blocks run in waves
 * over the SMs. The last wave is rarely full, so a small batch leaves many SMs idle. The factor is that of the best
 * tile, since libraries choose a smaller tile if it is faster.
 *
 * @param outputElements output elements of the operator for the whole batch
 * @param sms number of SMs of the tenant
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
