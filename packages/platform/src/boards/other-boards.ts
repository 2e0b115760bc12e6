import type { GpuSpec } from '../gpu-spec.js'
import { clockLadder, GiB, MiB } from './ladder.js'

/**
 * Properties that all boards with the same chip share. `flop`: FLOP per SM and clock, of the tensor cores in FP16 with
 * FP32 accumulation and in TF32, and of the FP32 units.
 */
interface Chip
  extends Pick<GpuSpec, 'architecture' | 'chip' | 'process' | 'dieMm2' | 'computeCapability' | 'smPerTpc'> {
  readonly flop: readonly [tensor: number, tf32: number | null, fp32: number]
  readonly l2Mib: number
  readonly reading: GpuSpec['powerReading']
  readonly source: string
}

const chip = (
  architecture: string,
  name: string,
  process: string,
  dieMm2: number,
  computeCapability: string,
  flop: Chip['flop'],
  l2Mib: number,
  source: string,
  reading: GpuSpec['powerReading'] = 'one-second-average',
): Chip => ({ architecture, chip: name, process, dieMm2, computeCapability, smPerTpc: 2, flop, l2Mib, reading, source })

const tables = {
  pascal: 'NVIDIA, Tesla P100 whitepaper (GP100: FP16 at twice FP32, no tensor units; 610 mm2)',
  volta: 'NVIDIA, Tesla V100 GPU Architecture whitepaper: 815 mm2',
  turing: 'NVIDIA, Turing GPU Architecture whitepaper: TU102 754 mm2',
  ga100: 'NVIDIA, A100 Tensor Core GPU Architecture whitepaper: 826 mm2',
  ga102: 'NVIDIA, Ampere GA102 GPU Architecture whitepaper: 628 mm2',
  ada: 'NVIDIA, Ada GPU Architecture whitepaper: AD102 609 mm2, AD104 294 mm2',
  hopper: 'NVIDIA, H100 Tensor Core GPU Architecture whitepaper: 814 mm2',
  blackwell: 'NVIDIA, RTX Blackwell GPU Architecture whitepaper: GB202 750 mm2',
  gb100: 'NVIDIA, Blackwell Architecture technical brief: two dies at the reticle limit, 148 SMs enabled on B200',
}

const gp100 = chip('Pascal', 'GP100', 'TSMC 16FF', 610, '6.0', [256, null, 128], 4, tables.pascal, 'part-time')
const gv100 = chip('Volta', 'GV100', 'TSMC 12FFN', 815, '7.0', [1024, null, 128], 6, tables.volta, 'part-time')
const tu102 = chip('Turing', 'TU102', 'TSMC 12FFN', 754, '7.5', [1024, null, 128], 6, tables.turing, 'part-time')
const ga100 = chip('Ampere', 'GA100', 'TSMC 7N', 826, '8.0', [2048, 1024, 128], 40, tables.ga100, 'part-time')
const ga102 = chip('Ampere', 'GA102', 'Samsung 8N', 628, '8.6', [1024, 512, 256], 6, tables.ga102)
const ad102 = chip('Ada', 'AD102', 'TSMC 4N', 609, '8.9', [1024, 512, 256], 96, tables.ada)
const ad104 = chip('Ada', 'AD104', 'TSMC 4N', 294, '8.9', [1024, 512, 256], 48, tables.ada)
const gh100 = chip('Hopper', 'GH100', 'TSMC 4N', 814, '9.0', [4096, 2048, 256], 50, tables.hopper)
const gb202 = chip('Blackwell', 'GB202', 'TSMC 4N', 750, '12.0', [1024, 512, 256], 128, tables.blackwell)
const gb100 = chip('Blackwell', 'GB100', 'TSMC 4NP', 1600, '10.0', [8192, 4096, 256], 126, tables.gb100)
/** On GeForce boards, the tensor cores have half the rate in FP16 with FP32 accumulation and in TF32. */
const geforce = (of: Chip): Chip => ({ ...of, flop: [of.flop[0] / 2, of.flop[1]! / 2, of.flop[2]] })

/**
 * Builds the spec of a board from its chip, SM count, clocks (lowest, base, boost, highest; MHz), memory and power
 * limits (lowest, default, highest; W).
 */
function board(
  key: string,
  name: string,
  { flop, l2Mib, reading, source, ...of }: Chip,
  smCount: number,
  [lowest, base, boost, highest]: readonly [number, number, number, number],
  memory: readonly [gib: number, type: string, bits: number, mhz: number],
  [min, usual, max]: readonly [number, number, number],
  aliases: readonly string[],
  { sources = [], step = 15, l2 = l2Mib }: { readonly sources?: readonly string[]; step?: number; l2?: number } = {},
): GpuSpec {
  const [gib, memoryType, memoryBusBits, memClockMhz] = memory
  return {
    ...of,
    key,
    name,
    aliases,
    smCount,
    baseClockMhz: base,
    boostClockMhz: boost,
    clockStates: [
      { memClockMhz, smClocksMhz: clockLadder(highest - step * Math.floor((highest - lowest) / step), highest, step) },
    ],
    performanceMemClocksMhz: [memClockMhz],
    memoryBusBits,
    memoryType,
    transfersPerMemClock: 2,
    memoryBytes: gib * GiB,
    l2Bytes: l2 * MiB,
    tensorFlopPerClockPerSm: flop[0],
    tf32FlopPerClockPerSm: flop[1],
    fp32FlopPerClockPerSm: flop[2],
    powerLimitW: { min, default: usual, max },
    powerReading: reading,
    thermalLimitC: 85,
    sources: [
      source,
      `NVIDIA, data sheet of the ${name}: SMs, clocks, memory, default limit; limit range and highest temperature as of the board type`,
      ...sources,
    ],
  }
}

const aws = 'Boost clock: the highest of the clock table, which these boards keep until the limit binds'

/** Boards of which only the data sheets are known. No power or performance model has been fitted to them. */
export const otherBoards: readonly GpuSpec[] = [
  board(
    'P100',
    'Tesla P100-PCIE-16GB',
    gp100,
    56,
    [544, 1189, 1328, 1328],
    [16, 'HBM2', 4096, 715],
    [125, 250, 250],
    ['p100pcie', 'p100pcie16gb', 'teslap100'],
    { step: 12 },
  ),
  board(
    'V100-PCIe',
    'Tesla V100-PCIE-16GB',
    gv100,
    80,
    [135, 1245, 1380, 1380],
    [16, 'HBM2', 4096, 877],
    [100, 250, 250],
    ['v100pcie', 'v100pcie16gb', 'v100pcie32gb', 'teslav100pcie', 'teslav100pcie32gb'],
    { step: 7.5 },
  ),
  board(
    'RTX6000',
    'Quadro RTX 6000',
    tu102,
    72,
    [300, 1440, 1770, 2100],
    [24, 'GDDR6', 384, 7001],
    [100, 260, 260],
    ['quadrortx6000', 'rtx6000turing'],
  ),
  board(
    'RTX2080Ti',
    'NVIDIA GeForce RTX 2080 Ti',
    { ...tu102, flop: [512, null, 128] },
    68,
    [300, 1350, 1755, 2100],
    [11, 'GDDR6', 352, 7001],
    [100, 250, 280],
    ['2080ti', 'geforcertx2080ti'],
    { l2: 5.5 },
  ),
  board(
    'A100-80GB-PCIe',
    'NVIDIA A100 80GB PCIe',
    ga100,
    108,
    [210, 1065, 1410, 1410],
    [80, 'HBM2e', 5120, 1512],
    [150, 300, 300],
    ['a100pcie80gb', 'a10080gbpcie', 'a100pcie80'],
  ),
  board(
    'A100-40GB-SXM',
    'NVIDIA A100-SXM4-40GB',
    ga100,
    108,
    [210, 1095, 1410, 1410],
    [40, 'HBM2', 5120, 1215],
    [100, 400, 400],
    ['a100sxm40gb', 'a100sxm440gb', 'a10040gbsxm4', 'a10040gbsxm'],
  ),
  board(
    'RTX8000',
    'Quadro RTX 8000',
    tu102,
    72,
    [300, 1395, 1770, 2100],
    [48, 'GDDR6', 384, 7001],
    [100, 260, 260],
    ['quadrortx8000'],
  ),
  board(
    'A40',
    'NVIDIA A40',
    ga102,
    84,
    [210, 1305, 1740, 1740],
    [48, 'GDDR6', 384, 7251],
    [100, 300, 300],
    ['a40pcie', 'a4048gb'],
  ),
  board(
    'A6000',
    'NVIDIA RTX A6000',
    ga102,
    84,
    [210, 1410, 1800, 2100],
    [48, 'GDDR6', 384, 8001],
    [100, 300, 300],
    ['rtxa6000'],
  ),
  board('L4', 'NVIDIA L4', ad104, 58, [210, 795, 2040, 2040], [24, 'GDDR6', 192, 6251], [40, 72, 72], ['l424gb']),
  board(
    'L40S',
    'NVIDIA L40S',
    ad102,
    142,
    [210, 1110, 2520, 2520],
    [48, 'GDDR6', 384, 9001],
    [100, 350, 350],
    ['l40s48gb'],
  ),
  board(
    'RTX6000Ada',
    'NVIDIA RTX 6000 Ada Generation',
    ad102,
    142,
    [210, 915, 2505, 3105],
    [48, 'GDDR6', 384, 10001],
    [100, 300, 300],
    ['rtx6000ada', '6000ada', 'rtx6000adageneration'],
  ),
  board(
    'RTX4090',
    'NVIDIA GeForce RTX 4090',
    geforce(ad102),
    128,
    [210, 2235, 2520, 3105],
    [24, 'GDDR6X', 384, 10501],
    [150, 450, 600],
    ['4090', 'geforcertx4090'],
    { l2: 72 },
  ),
  board(
    'RTX5090',
    'NVIDIA GeForce RTX 5090',
    geforce(gb202),
    170,
    [180, 2017, 2400, 3090],
    [32, 'GDDR7', 512, 14001],
    [400, 575, 600],
    ['5090', 'geforcertx5090'],
    { l2: 96 },
  ),
  board(
    'RTXPRO6000',
    'NVIDIA RTX PRO 6000 Blackwell Workstation Edition',
    gb202,
    188,
    [180, 1590, 2610, 3090],
    [96, 'GDDR7', 512, 14001],
    [150, 600, 600],
    ['rtxpro6000blackwell', 'pro6000', 'rtxpro6000blackwellserveredition'],
  ),
  board(
    'RTXPRO6000-MaxQ',
    'NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition',
    gb202,
    188,
    [180, 1590, 2280, 3090],
    [96, 'GDDR7', 512, 14001],
    [250, 300, 300],
    ['rtxpro6000blackwellmaxq', 'rtxpro6000maxq', 'rtxpro6000blackwellmaxqworkstation'],
  ),
  board(
    'H100-PCIe',
    'NVIDIA H100 PCIe',
    gh100,
    114,
    [210, 1095, 1755, 1755],
    [80, 'HBM2e', 5120, 1593],
    [200, 350, 350],
    ['h100pcie80gb'],
  ),
  board(
    'B200',
    'NVIDIA B200',
    gb100,
    148,
    [120, 1125, 1965, 1965],
    [180, 'HBM3e', 8192, 3996],
    [200, 1000, 1000],
    ['b200sxm', 'b200180gb'],
    { sources: [aws] },
  ),
  board(
    'GB200',
    'NVIDIA GB200',
    gb100,
    152,
    [120, 1125, 2062, 2062],
    [185, 'HBM3e', 8192, 3996],
    [200, 1200, 1200],
    ['gb200nvl72'],
    { sources: [aws, 'SM count, memory and limit: NVIDIA aiconfigurator, system file of the GB200'] },
  ),
]
