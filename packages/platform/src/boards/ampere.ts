import type { GpuSpec } from '../gpu-spec.js'
import { clockLadder, GiB, MiB } from './ladder.js'

const ga102Clocks = clockLadder(210, 2100, 15)
const ga100Clocks = clockLadder(210, 1410, 15)
const ga102Idle = { memClockMhz: 405, smClocksMhz: clockLadder(210, 420, 15) }

const ga102 = {
  architecture: 'Ampere',
  chip: 'GA102',
  process: 'Samsung 8N',
  computeCapability: '8.6',
  smPerTpc: 2,
  memoryBusBits: 384,
  transfersPerMemClock: 2,
  l2Bytes: 6 * MiB,
  fp32FlopPerClockPerSm: 256,
  powerReading: 'one-second-average',
} as const

const ga100 = {
  architecture: 'Ampere',
  chip: 'GA100',
  process: 'TSMC 7N',
  computeCapability: '8.0',
  smCount: 108,
  smPerTpc: 2,
  boostClockMhz: 1410,
  memoryBusBits: 5120,
  transfersPerMemClock: 2,
  l2Bytes: 40 * MiB,
  tensorFlopPerClockPerSm: 2048,
  tf32FlopPerClockPerSm: 1024,
  fp32FlopPerClockPerSm: 128,
  powerReading: 'part-time',
  thermalLimitC: 85,
} as const

export const rtx3080Ti: GpuSpec = {
  ...ga102,
  key: '3080Ti',
  name: 'NVIDIA GeForce RTX 3080 Ti',
  aliases: ['rtx3080ti', 'geforcertx3080ti'],
  smCount: 80,
  baseClockMhz: 1365,
  boostClockMhz: 1950,
  clockStates: [
    ga102Idle,
    { memClockMhz: 810, smClocksMhz: ga102Clocks },
    { memClockMhz: 5001, smClocksMhz: ga102Clocks },
    { memClockMhz: 9251, smClocksMhz: ga102Clocks },
    { memClockMhz: 9501, smClocksMhz: ga102Clocks },
  ],
  performanceMemClocksMhz: [9501, 5001],
  memoryBytes: 12 * GiB,
  tensorFlopPerClockPerSm: 512,
  tf32FlopPerClockPerSm: 256,
  powerLimitW: { min: 100, default: 350, max: 400 },
  thermalLimitC: 93,
  sources: [
    'NVIDIA, Ampere GA102 GPU Architecture whitepaper: SMs, tensor rate with FP32 accumulation, L2, bus',
    'NVIDIA, GeForce RTX 3080 Ti product page: 12 GB, 350 W, base 1365 MHz, rated boost 1665 MHz',
    'Observed boost of about 1950 MHz under inference load and the clock tables: PctoDL platform tables and fits',
    'arXiv 2312.02741: the power reading of GA102 is a one-second running average',
  ],
}

export const rtx3090: GpuSpec = {
  ...ga102,
  // Not '3090': in JavaScript objects, keys that look like integers come first, whatever their order in the source.
  key: 'RTX3090',
  name: 'NVIDIA GeForce RTX 3090',
  aliases: ['3090', 'geforcertx3090'],
  smCount: 82,
  baseClockMhz: 1395,
  boostClockMhz: 1950,
  clockStates: [
    ga102Idle,
    { memClockMhz: 810, smClocksMhz: ga102Clocks },
    { memClockMhz: 5001, smClocksMhz: ga102Clocks },
    { memClockMhz: 9501, smClocksMhz: ga102Clocks },
    { memClockMhz: 9751, smClocksMhz: ga102Clocks },
  ],
  performanceMemClocksMhz: [9751, 5001],
  memoryBytes: 24 * GiB,
  tensorFlopPerClockPerSm: 512,
  tf32FlopPerClockPerSm: 256,
  powerLimitW: { min: 100, default: 350, max: 400 },
  thermalLimitC: 93,
  sources: [
    'NVIDIA, Ampere GA102 GPU Architecture whitepaper: 82 SMs, 71 TFLOPS FP16 with FP32 accumulation and 35.6 TF32 at 1695 MHz, 384 bit at 19.5 Gbit/s (9751 MHz in nvidia-smi)',
    'NVIDIA, GeForce RTX 3090 product page: 24 GB, 350 W, base 1395 MHz, rated boost 1695 MHz',
    'Boost under load: taken as that of the RTX 3080 Ti, the same chip; limit range of the Founders Edition: 100 to 400 W',
  ],
}

export const a10: GpuSpec = {
  ...ga102,
  key: 'A10',
  name: 'NVIDIA A10',
  aliases: ['a10pcie', 'a1024gb'],
  smCount: 72,
  baseClockMhz: 885,
  boostClockMhz: 1695,
  clockStates: [ga102Idle, { memClockMhz: 6251, smClocksMhz: clockLadder(210, 1695, 15) }],
  performanceMemClocksMhz: [6251],
  memoryBytes: 24 * GiB,
  tensorFlopPerClockPerSm: 1024,
  tf32FlopPerClockPerSm: 512,
  powerLimitW: { min: 100, default: 150, max: 150 },
  thermalLimitC: 88,
  sources: [
    'NVIDIA, A10 datasheet: 125 TFLOPS FP16 and 62.5 TF32 (dense), 24 GB GDDR6, 600 GB/s, 150 W',
    'NVIDIA, A10 product brief: GA102 with 72 SMs, base 885 MHz, boost 1695 MHz, memory 6251 MHz on 384 bit',
    'Driver limit range 100 to 150 W, highest operating temperature 88 C: nvidia-smi -q on the board type',
  ],
}

export const a100Pcie40: GpuSpec = {
  ...ga100,
  key: 'A100',
  name: 'NVIDIA A100-PCIE-40GB',
  aliases: ['a100pcie40gb', 'a100pcie', 'a10040gb', 'a10040gbpcie'],
  baseClockMhz: 765,
  clockStates: [{ memClockMhz: 1215, smClocksMhz: ga100Clocks }],
  performanceMemClocksMhz: [1215],
  memoryBytes: 40 * GiB,
  powerLimitW: { min: 150, default: 250, max: 250 },
  sources: [
    'NVIDIA, A100 Tensor Core GPU Architecture whitepaper: SMs, tensor rate, 40 MB L2, 5120-bit HBM2 at 1215 MHz',
    'NVIDIA, A100 PCIe 40GB product brief: 250 W, base 765 MHz, boost 1410 MHz; driver: limit range 150 to 250 W',
    'arXiv 2312.02741: GA100 observes about 25 ms of each 100 ms',
  ],
}

export const a100Sxm80: GpuSpec = {
  ...ga100,
  key: 'A100-80GB',
  name: 'NVIDIA A100-SXM4-80GB',
  aliases: ['a100sxm80gb', 'a100sxm80', 'a100sxm', 'a100sxm480gb', 'a10080gbsxm4'],
  baseClockMhz: 1275,
  clockStates: [{ memClockMhz: 1593, smClocksMhz: ga100Clocks }],
  performanceMemClocksMhz: [1593],
  memoryBytes: 80 * GiB,
  powerLimitW: { min: 100, default: 400, max: 400 },
  sources: [
    'NVIDIA, A100 80GB datasheet: SXM 400 W, 80 GB HBM2e, 2039 GB/s (1593 MHz on 5120 bit)',
    'NVIDIA, A100 Tensor Core GPU Architecture whitepaper: SMs, tensor rate, 40 MB L2, boost 1410 MHz',
    'Driver limit range 100 to 400 W: nvidia-smi -q on the board type',
    'arXiv 2312.02741: GA100 observes about 25 ms of each 100 ms',
  ],
}
