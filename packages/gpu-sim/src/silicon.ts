import { type GpuSpec, InvalidInputError, memoryTypeOf } from '@pctodl/platform'

/**
 * Properties of processes, generations, memories and chips that data sheets do not state. Only their ratios to the
 * values of a calibrated board matter. Each table names its sources: measured on a board, published, identified (fitted
 * together with other unknowns) or assumed.
 */

interface Process {
  /** Switching energy of a gate at the same speed, relative to TSMC 7N. */
  readonly switching: number
  /** Leakage at the boost voltage, W/mm2. */
  readonly leakage: number
  /** Power of the clock tree and uncore at the boost clock, per mm2 of chip area and GHz of SM clock, W/(mm2 GHz). */
  readonly clockTree: number
}

/**
 * Switching energy follows the foundries' statements: 7 nm draws 60 % less than 16 nm, 12 nm a quarter less than 16 nm,
 * 5 nm (of which 4N is a variant) 30 % less than 7 nm, and Samsung's 8 nm 10 % less than its 10 nm.
 *
 * Leakage and clock tree are measured without load on A100 (60 W), V100 (49 and 53.5 W) and RTX 3090 (127 W). For 4N
 * they are identified on the lowest readings of H200 (128 W) and GB200 (211 W). For 16FF they are assumed to equal
 * those of 12FFN.
 */
const processes: Readonly<Record<string, Process>> = {
  'TSMC 16FF': { switching: 1 / 0.4, leakage: 0.02, clockTree: 0.02 },
  'TSMC 12FFN': { switching: 0.75 / 0.4, leakage: 0.02, clockTree: 0.02 },
  'Samsung 8N': { switching: 1.35, leakage: 0.03, clockTree: 0.0536 },
  'TSMC 7N': { switching: 1, leakage: 0.0121, clockTree: 0.0194 },
  'TSMC 4N': { switching: 0.7, leakage: 0.02, clockTree: 0.0136 },
  'TSMC 4NP': { switching: 0.63, leakage: 0.02, clockTree: 0.0122 },
}

/**
 * Energy of moving a byte or operand on the chip at boost voltage, relative to Ampere's. From process to process it
 * falls less than switching energy, because wires shrink less than gates. Measured by streaming on Volta (V100,
 * vectorAdd) and Ampere (A100, BabelStream). Hopper as Ampere: decode on H100 takes the measured energy within 7 %
 * (`evidence/H100`). Identified on decode attention for GB200. The others are assumed.
 */
const movement: Readonly<Record<string, number>> = {
  Pascal: 1.6,
  Volta: 1.6,
  Turing: 1.6,
  Ampere: 1,
  'Samsung 8N': 2.1,
  Ada: 0.8,
  Hopper: 1,
  'TSMC 4NP': 0.3,
  Blackwell: 0.7,
}

/**
 * Factor on arithmetic energy for chips that draw more than their process suggests. For GB202 it is identified on
 * networks of an RTX PRO 6000 Max-Q at its limit of 300 W, for AD102 on large products of an L40S (205 TFLOP/s), which
 * is assumed to run at its limit of 350 W, for GH100 on large products of an H100 at its limit (621 TFLOP/s at 692 W,
 * `evidence/H100`).
 */
const hungrier: Readonly<Record<string, number>> = { AD102: 2, GB202: 1.5, GH100: 1.2 }

interface Memory {
  /** Energy per byte of traffic, in DRAM and its interface, pJ. */
  readonly bytePj: number
  /** Power of refresh, interface and controller per 32 bits of bus width, W. */
  readonly backgroundW: number
  /** Attained share of the peak bandwidth, 0..1. Default 0.85. */
  readonly attained?: number
}

/**
 * HBM2, HBM2e: identified on the A100.
 *
 * HBM3, HBM3e: background identified on H200 and GB200, including the module's NVLink; energy assumed equal to HBM2's.
 *
 * GDDR: published energy of device and interface (GDDR5 14, GDDR6 7.5, GDDR6X 7.25 pJ/bit), increased for the
 * controller by the same ratio as for HBM2. Background of GDDR6X measured on the RTX 3090; GDDR5X and GDDR7 assumed
 * between the neighbouring generations. Attained bandwidth of GDDR7 identified on networks of an RTX 5090.
 *
 * LPDDR5: published 4 pJ/bit; background assumed.
 */
const memories: Readonly<Record<string, Memory>> = {
  HBM2: { bytePj: 23.9, backgroundW: 0.027 },
  HBM2e: { bytePj: 23.9, backgroundW: 0.065 },
  HBM3: { bytePj: 23.9, backgroundW: 0.36 },
  HBM3e: { bytePj: 23.9, backgroundW: 0.36 },
  GDDR5: { bytePj: 86, backgroundW: 1.5 },
  GDDR5X: { bytePj: 65, backgroundW: 1.5 },
  GDDR6: { bytePj: 46, backgroundW: 1 },
  GDDR6X: { bytePj: 44, backgroundW: 3 },
  GDDR7: { bytePj: 30, backgroundW: 1, attained: 0.76 },
  LPDDR5: { bytePj: 25, backgroundW: 0.2 },
}

/** Die areas, mm2. Source: the whitepapers of the generations. */
const dies: Readonly<Record<string, number>> = { GA102: 628, GA100: 826, GV100: 815, TU104: 545, GH100: 814 }
/**
 * Die area per SM of chips without a published area, mm2. Assumed: between the values of the last four generations.
 */
const MM2_PER_SM = 6

/**
 * Silicon properties of a board. A name that is in no table gets the entry of its family with the nearest number: `TSMC
 * 3N` counts as a 4 nm process, `HBM4` as HBM3e.
 *
 * @throws InvalidInputError for a process without a number, or a kind of memory without family
 */
export function siliconOf(spec: GpuSpec): {
  readonly process: Process
  readonly movement: number
  readonly memory: Memory
  readonly dieMm2: number
} {
  const memoryType = memoryTypeOf(spec)
  const process = nearest('process', spec.process, processes, '')
  return {
    process: { ...process, switching: process.switching * (hungrier[spec.chip] ?? 1) },
    // A generation that was not measured is assumed to need the same energy for movement as the last measured one.
    movement: movement[spec.process] ?? movement[spec.architecture] ?? movement['Blackwell']!,
    memory: nearest('memoryType', memoryType, memories, /^\D*/.exec(memoryType)![0] || 'HBM or GDDR'),
    dieMm2: spec.dieMm2 ?? dies[spec.chip] ?? MM2_PER_SM * spec.smCount,
  }
}

function nearest<T>(field: string, value: string, table: Readonly<Record<string, T>>, family: string): T {
  if (Object.hasOwn(table, value)) return table[value]!
  // Foundries count in angstrom below 2 nm: A16, 18A.
  const numberIn = (name: string) => Number(/\d+/.exec(name)?.[0]) / (/\bA\d|\dA\b/.test(name) ? 10 : 1)
  // Tables are ordered from old to new. Of two entries that are equally near, the newer one is used.
  const near = Object.keys(table)
    .filter((name) => name.startsWith(family) && numberIn(value) >= 0)
    .reduceRight<string | null>((best, name) => {
      const distance = (each: string) => Math.abs(numberIn(each) - numberIn(value))
      return best === null || distance(name) < distance(best) ? name : best
    }, null)
  if (near !== null) return table[near]!
  throw new InvalidInputError(`spec.${field}`, value, `a name like '${Object.keys(table).join("', '")}'`)
}
