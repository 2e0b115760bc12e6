import type { GpuSpec } from '../gpu-spec.js'
import { clockLadder, GiB, MiB } from './ladder.js'

const gh100Clocks = clockLadder(345, 1980, 15)

const gh100 = {
  architecture: 'Hopper',
  chip: 'GH100',
  process: 'TSMC 4N',
  computeCapability: '9.0',
  smCount: 132,
  smPerTpc: 2,
  baseClockMhz: 1590,
  boostClockMhz: 1980,
  transfersPerMemClock: 2,
  l2Bytes: 50 * MiB,
  tensorFlopPerClockPerSm: 4096,
  tf32FlopPerClockPerSm: 2048,
  fp32FlopPerClockPerSm: 256,
  powerLimitW: { min: 200, default: 700, max: 700 },
  powerReading: 'one-second-average',
  thermalLimitC: 87,
} as const

const commonSources = [
  'NVIDIA, H100 Tensor Core GPU Architecture whitepaper: 132 SMs, 989.4 TFLOPS FP16 and 494.7 TF32 (dense) at 1830 MHz, 50 MB L2',
  'Clock table 345 to 1980 MHz in steps of 15 MHz and limit range 200 to 700 W: nvidia-smi -q on the board type',
  'NVML, nvmlDeviceGetPowerUsage: a one-second average on Ampere other than GA100, and later; arXiv 2312.02741: the instant field observes about 25 ms of each 100 ms',
]

export const h100Sxm: GpuSpec = {
  ...gh100,
  key: 'H100',
  name: 'NVIDIA H100 80GB HBM3',
  aliases: ['h100sxm', 'h100sxm5', 'h100sxm580gb', 'h10080gb'],
  clockStates: [1593, 2619].map((memClockMhz) => ({ memClockMhz, smClocksMhz: gh100Clocks })),
  performanceMemClocksMhz: [2619],
  memoryBusBits: 5120,
  memoryBytes: 80 * GiB,
  sources: [
    'NVIDIA, H100 datasheet: SXM5 700 W, 80 GB HBM3, 3.35 TB/s (2619 MHz on 5120 bit)',
    'Memory clocks: a board with driver 580.159.04 (`evidence/H100`)',
    ...commonSources,
  ],
}

export const h200Sxm: GpuSpec = {
  ...gh100,
  key: 'H200',
  name: 'NVIDIA H200',
  aliases: ['h200sxm', 'h200sxm5', 'h200141gb'],
  clockStates: [{ memClockMhz: 3201, smClocksMhz: gh100Clocks }],
  performanceMemClocksMhz: [3201],
  memoryBusBits: 6144,
  memoryBytes: 141 * GiB,
  sources: [
    'NVIDIA, H200 datasheet: SXM 700 W, 141 GB HBM3e, rated 4.8 TB/s; the driver shows 3201 MHz, on 6144 bit 4.92 TB/s',
    ...commonSources,
  ],
}
