/** SM clocks that a board accepts while its memory runs at `memClockMhz`. */
export interface ClockStates {
  readonly memClockMhz: number
  /** Ascending, MHz. */
  readonly smClocksMhz: readonly number[]
}

/** A GPU type. Every figure is a published one; `sources` says where each comes from. */
export interface GpuSpec {
  /** Short name used on command lines and in result paths, e.g. `3080Ti`. */
  readonly key: string
  /** Product name as the driver reports it. */
  readonly name: string
  readonly aliases: readonly string[]
  /** NVIDIA's name of the generation, e.g. `Ampere`. */
  readonly architecture: string
  /** The silicon: boards with the same chip differ in enabled units, memory, clocks and limits only. */
  readonly chip: string
  /** Foundry and node of the chip, e.g. `TSMC 7N`. */
  readonly process: string
  /** Area of the chip, or of all its compute dies, mm2. Default: a simulator's estimate from the chip's name and its SMs. */
  readonly dieMm2?: number
  readonly computeCapability: string
  /** Streaming multiprocessors that a process can use. */
  readonly smCount: number
  /** SMs that MPS hands out together (one TPC). */
  readonly smPerTpc: number
  readonly baseClockMhz: number
  /** Clock that the firmware boosts to under load when nothing is locked and power allows it, MHz. */
  readonly boostClockMhz: number
  /** One entry per memory clock, memory clocks ascending. */
  readonly clockStates: readonly ClockStates[]
  /** Memory clocks worth planning with (the lower ones are idle states), MHz, descending. */
  readonly performanceMemClocksMhz: readonly number[]
  readonly memoryBusBits: number
  /** Kind of memory, e.g. `HBM3`. Default: `memoryTypeOf`. */
  readonly memoryType?: string
  /** Data transfers per reported memory clock cycle (2 for GDDR6X and HBM2 as NVML reports their clocks). */
  readonly transfersPerMemClock: number
  readonly memoryBytes: number
  readonly l2Bytes: number
  /** Dense FP16 tensor throughput with FP32 accumulation, FLOP per clock and SM. */
  readonly tensorFlopPerClockPerSm: number
  /** Dense TF32 tensor throughput, FLOP per clock and SM; null before Ampere. */
  readonly tf32FlopPerClockPerSm: number | null
  /** FP32 throughput of the vector units, FLOP per clock and SM. */
  readonly fp32FlopPerClockPerSm: number
  readonly powerLimitW: { readonly min: number; readonly default: number; readonly max: number }
  /** How the board's plain power reading is formed. */
  readonly powerReading: 'one-second-average' | 'part-time'
  readonly thermalLimitC: number
  readonly sources: readonly string[]
}

/** Peak DRAM bandwidth at a memory clock, bytes/s: clock x transfers per clock x bus width. */
export function memoryBandwidth(spec: GpuSpec, memClockMhz: number): number {
  return memClockMhz * 1e6 * spec.transfersPerMemClock * (spec.memoryBusBits / 8)
}

/**
 * Kind of memory: the specification's own, or the one that its data rate per pin and its width imply by
 * JEDEC's standards and Micron's GDDR6X.
 */
export function memoryTypeOf(spec: GpuSpec): string {
  if (spec.memoryType !== undefined) return spec.memoryType
  const gbitPerPin = (spec.performanceMemClocksMhz[0]! * spec.transfersPerMemClock) / 1000
  const kinds = spec.memoryBusBits >= 1024 ? hbmKinds : gddrKinds
  return kinds.find(([, upTo]) => gbitPerPin <= upTo)![0]
}

/** Kinds with the highest data rate per pin that boards run them at, Gbit/s. */
const hbmKinds: readonly (readonly [string, number])[] = [
  ['HBM2', 2.5],
  ['HBM2e', 3.7],
  ['HBM3', 5.6],
  ['HBM3e', Number.POSITIVE_INFINITY],
]
const gddrKinds: readonly (readonly [string, number])[] = [
  ['GDDR5', 9.1],
  ['GDDR5X', 11.5],
  ['GDDR6', 18.1],
  ['GDDR6X', 24],
  ['GDDR7', Number.POSITIVE_INFINITY],
]

/** Dense tensor throughput in formats narrower than half precision, by compute capability, operations per clock and SM: NVIDIA's whitepapers. */
const narrowRates: Readonly<Record<string, { readonly int8: number; readonly fp4?: number; readonly hasFp8?: true }>> =
  {
    '7.5': { int8: 2048 },
    '8.0': { int8: 4096 },
    '8.6': { int8: 2048 },
    '8.9': { int8: 2048, hasFp8: true },
    '9.0': { int8: 8192, hasFp8: true },
    '10.0': { int8: 16384, fp4: 32768, hasFp8: true },
    '12.0': { int8: 2048, fp4: 4096, hasFp8: true },
  }

/** Dense tensor throughput in a narrow format, operations per clock and SM; 0 where the tensor units do not have it. */
export function narrowOpPerClockPerSm(spec: GpuSpec, format: 'fp8' | 'int8' | 'fp4'): number {
  const rates = narrowRates[spec.computeCapability]
  // GeForce boards sum FP8 at half rate, as they do half precision.
  if (format === 'fp8') return rates?.hasFp8 ? 2 * spec.tensorFlopPerClockPerSm : 0
  return rates?.[format] ?? 0
}

/**
 * SMs that a client with an active thread percentage can use: the share of the board in whole TPCs, at least one.
 * MPS rounds down, so small shares differ between boards (5 % of 108 SMs is 4 SMs, 10 % is 10).
 */
export function smsOfShare(spec: GpuSpec, mpsPercent: number): number {
  const tpcs = Math.floor((mpsPercent / 100) * (spec.smCount / spec.smPerTpc) + 1e-9)
  return Math.max(1, tpcs) * spec.smPerTpc
}

/** SM clocks supported at a memory clock, MHz ascending; undefined where the board has no such memory clock. */
export function smClocksAt(spec: GpuSpec, memClockMhz: number): readonly number[] | undefined {
  return spec.clockStates.find((state) => state.memClockMhz === memClockMhz)?.smClocksMhz
}
