/** Dense FLOP per clock cycle of one SM. A multiply-add counts as two. */
interface SmRates {
  readonly tensorFlopPerClockPerSm: number
  readonly tf32FlopPerClockPerSm: number | null
  readonly fp32FlopPerClockPerSm: number
}

/**
 * Rates by compute capability: FP16 with FP32 accumulation, TF32, and FP32. Sources: NVIDIA's architecture whitepapers
 * for V100, Turing, A100, GA102, Ada and H100. GeForce boards of Turing, GA102, Ada and Blackwell run FP16 with FP32
 * accumulation and TF32 at half rate.
 */
const rates: Readonly<Record<string, SmRates>> = {
  '6.0': { tensorFlopPerClockPerSm: 256, tf32FlopPerClockPerSm: null, fp32FlopPerClockPerSm: 128 },
  '7.0': { tensorFlopPerClockPerSm: 1024, tf32FlopPerClockPerSm: null, fp32FlopPerClockPerSm: 128 },
  '7.5': { tensorFlopPerClockPerSm: 1024, tf32FlopPerClockPerSm: null, fp32FlopPerClockPerSm: 128 },
  '8.0': { tensorFlopPerClockPerSm: 2048, tf32FlopPerClockPerSm: 1024, fp32FlopPerClockPerSm: 128 },
  '8.6': { tensorFlopPerClockPerSm: 1024, tf32FlopPerClockPerSm: 512, fp32FlopPerClockPerSm: 256 },
  '8.9': { tensorFlopPerClockPerSm: 1024, tf32FlopPerClockPerSm: 512, fp32FlopPerClockPerSm: 256 },
  '9.0': { tensorFlopPerClockPerSm: 4096, tf32FlopPerClockPerSm: 2048, fp32FlopPerClockPerSm: 256 },
  '10.0': { tensorFlopPerClockPerSm: 8192, tf32FlopPerClockPerSm: 4096, fp32FlopPerClockPerSm: 256 },
  '12.0': { tensorFlopPerClockPerSm: 1024, tf32FlopPerClockPerSm: 512, fp32FlopPerClockPerSm: 256 },
}

const halved = new Set(['7.5', '8.6', '8.9', '12.0'])

/** Returns the rates of one SM; undefined for a compute capability that this release does not know. */
export function smRates(computeCapability: string, isGeForce: boolean): SmRates | undefined {
  const full = rates[computeCapability]
  if (!full || !isGeForce || !halved.has(computeCapability)) return full
  return {
    ...full,
    tensorFlopPerClockPerSm: full.tensorFlopPerClockPerSm / 2,
    tf32FlopPerClockPerSm: full.tf32FlopPerClockPerSm === null ? null : full.tf32FlopPerClockPerSm / 2,
  }
}
