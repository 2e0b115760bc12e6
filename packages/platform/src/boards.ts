import { UnknownNameError } from './errors.js'
import type { GpuSpec } from './gpu-spec.js'

const clockLadder = (fromMhz: number, toMhz: number, stepMhz: number): readonly number[] =>
  Array.from({ length: Math.floor((toMhz - fromMhz) / stepMhz) + 1 }, (_, i) => fromMhz + i * stepMhz)

const ga102Clocks = clockLadder(210, 2100, 15)
const ga100Clocks = clockLadder(210, 1410, 15)
const GiB = 1024 ** 3
const MiB = 1024 ** 2

const rtx3080Ti: GpuSpec = {
  key: '3080Ti',
  name: 'NVIDIA GeForce RTX 3080 Ti',
  aliases: ['rtx3080ti', 'geforcertx3080ti'],
  architecture: 'Ampere',
  computeCapability: '8.6',
  smCount: 80,
  smPerTpc: 2,
  baseClockMhz: 1365,
  boostClockMhz: 1950,
  clockStates: [
    { memClockMhz: 405, smClocksMhz: clockLadder(210, 420, 15) },
    { memClockMhz: 810, smClocksMhz: ga102Clocks },
    { memClockMhz: 5001, smClocksMhz: ga102Clocks },
    { memClockMhz: 9251, smClocksMhz: ga102Clocks },
    { memClockMhz: 9501, smClocksMhz: ga102Clocks },
  ],
  performanceMemClocksMhz: [9501, 5001],
  memoryBusBits: 384,
  transfersPerMemClock: 2,
  memoryBytes: 12 * GiB,
  l2Bytes: 6 * MiB,
  tensorFlopPerClockPerSm: 512,
  powerLimitW: { min: 100, default: 350, max: 400 },
  powerReading: 'one-second-average',
  thermalLimitC: 93,
  sources: [
    'NVIDIA, Ampere GA102 GPU Architecture whitepaper: SMs, tensor rate with FP32 accumulation, L2, bus',
    'NVIDIA, GeForce RTX 3080 Ti product page: 12 GB, 350 W, base 1365 MHz, rated boost 1665 MHz',
    'Observed boost of about 1950 MHz under inference load and the clock tables: PctoDL platform tables and fits',
    'arXiv 2312.02741: the power reading of GA102 is a one-second running average',
  ],
}

const a100Pcie40: GpuSpec = {
  key: 'A100',
  name: 'NVIDIA A100-PCIE-40GB',
  aliases: ['a100pcie40gb', 'a100pcie', 'a10040gb'],
  architecture: 'Ampere',
  computeCapability: '8.0',
  smCount: 108,
  smPerTpc: 2,
  baseClockMhz: 765,
  boostClockMhz: 1410,
  clockStates: [{ memClockMhz: 1215, smClocksMhz: ga100Clocks }],
  performanceMemClocksMhz: [1215],
  memoryBusBits: 5120,
  transfersPerMemClock: 2,
  memoryBytes: 40 * GiB,
  l2Bytes: 40 * MiB,
  tensorFlopPerClockPerSm: 2048,
  powerLimitW: { min: 150, default: 250, max: 250 },
  powerReading: 'part-time',
  thermalLimitC: 85,
  sources: [
    'NVIDIA, A100 Tensor Core GPU Architecture whitepaper: SMs, tensor rate, 40 MB L2, 5120-bit HBM2 at 1215 MHz',
    'NVIDIA, A100 PCIe 40GB product brief: 250 W, base 765 MHz, boost 1410 MHz; driver: limit range 150 to 250 W',
    'arXiv 2312.02741: GA100 observes about 25 ms of each 100 ms',
  ],
}

/** The boards that this release knows, by key. */
export const gpuSpecs: Readonly<Record<string, GpuSpec>> = { [rtx3080Ti.key]: rtx3080Ti, [a100Pcie40.key]: a100Pcie40 }

/**
 * Find a board by key, product name or alias; case, blanks and punctuation do not matter, but the whole name must match
 * (`A10` is not an `A100`).
 *
 * @throws UnknownNameError listing the boards that exist.
 */
export function findGpuSpec(name: string): GpuSpec {
  const wanted = plain(name)
  for (const spec of Object.values(gpuSpecs)) {
    const names = [spec.key, spec.name, ...spec.aliases].map(plain)
    if (names.includes(wanted) || names.includes(`nvidia${wanted}`)) return spec
  }
  throw new UnknownNameError('GPU', name, Object.keys(gpuSpecs))
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}
