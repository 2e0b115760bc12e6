/** Dense FLOP per clock cycle of one SM. A multiply-add counts as two. */
export interface SmRates {
  readonly tensorFlopPerClockPerSm: number
  readonly tf32FlopPerClockPerSm: number | null
  readonly fp32FlopPerClockPerSm: number
}

/**
 * Properties by compute capability: FLOP per clock cycle of one SM with FP16 (FP32 accumulation), TF32 and FP32; foundry
 * and process node. `halved`: GeForce boards run FP16 with FP32 accumulation and TF32 at half rate. `part-time`: the
 * averaged power reading is no one-second average. Sources: NVIDIA's architecture whitepapers for V100, Turing, A100,
 * GA102, Ada and H100; for the power reading the NVML documentation (before Ampere, and GA100).
 */
const generations: Readonly<Record<string, readonly [number, number | null, number, string, ...string[]]>> = {
  '6.0': [256, null, 128, 'TSMC 16FF', 'part-time'],
  '7.0': [1024, null, 128, 'TSMC 12FFN', 'part-time'],
  '7.5': [1024, null, 128, 'TSMC 12FFN', 'part-time', 'halved'],
  '8.0': [2048, 1024, 128, 'TSMC 7N', 'part-time'],
  '8.6': [1024, 512, 256, 'Samsung 8N', 'halved'],
  '8.9': [1024, 512, 256, 'TSMC 4N', 'halved'],
  '9.0': [4096, 2048, 256, 'TSMC 4N'],
  '10.0': [8192, 4096, 256, 'TSMC 4NP'],
  '12.0': [1024, 512, 256, 'TSMC 4N', 'halved'],
}

/** Properties that follow from a board's compute capability. */
export interface Generation extends SmRates {
  readonly process: string
  readonly powerReading: 'part-time' | 'one-second-average'
}

/** @returns undefined for a compute capability that this release does not know */
export function generationOf(computeCapability: string, isGeForce: boolean): Generation | undefined {
  const known = generations[computeCapability]
  if (!known) return undefined
  const [tensor, tf32, fp32FlopPerClockPerSm, process, ...traits] = known
  const divisor = isGeForce && traits.includes('halved') ? 2 : 1
  return {
    tensorFlopPerClockPerSm: tensor / divisor,
    tf32FlopPerClockPerSm: tf32 === null ? null : tf32 / divisor,
    fp32FlopPerClockPerSm,
    process,
    powerReading: traits.includes('part-time') ? 'part-time' : 'one-second-average',
  }
}

/** Number of SMs of a board; null if the compute capability is unknown or the division leaves a remainder. */
export function smCountOf(cores: number, computeCapability: string): number | null {
  const generation = generationOf(computeCapability, false)
  // A CUDA core is an FP32 unit, which does a multiply-add per clock cycle.
  const perSm = generation && generation.fp32FlopPerClockPerSm / 2
  return perSm !== undefined && cores > 0 && cores % perSm === 0 ? cores / perSm : null
}
