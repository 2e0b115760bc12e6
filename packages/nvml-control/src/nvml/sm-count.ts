/** CUDA cores (FP32 units) per SM by compute capability (CUDA C++ Programming Guide, arithmetic instructions). */
const coresPerSm: Readonly<Record<string, number>> = {
  '7.0': 64,
  '7.2': 64,
  '7.5': 64,
  '8.0': 64,
  '8.6': 128,
  '8.7': 128,
  '8.9': 128,
  '9.0': 128,
  '10.0': 128,
  '12.0': 128,
}

/** Number of SMs of a board; null if the compute capability is unknown or the division leaves a remainder. */
export function smCountOf(cores: number, computeCapability: string): number | null {
  const perSm = coresPerSm[computeCapability]
  return perSm !== undefined && cores > 0 && cores % perSm === 0 ? cores / perSm : null
}
