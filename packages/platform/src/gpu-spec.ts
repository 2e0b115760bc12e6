/** SM clocks that a board accepts while its memory runs at `memClockMhz`. */
export interface ClockStates {
  readonly memClockMhz: number
  /** Ascending, MHz. */
  readonly smClocksMhz: readonly number[]
}

/** A GPU type. All figures are published; `sources` says where. */
export interface GpuSpec {
  /** Short name used on command lines and in result paths, e.g. `3080Ti`. */
  readonly key: string
  /** Product name as the driver reports it. */
  readonly name: string
  readonly aliases: readonly string[]
  /** NVIDIA's name of the generation, e.g. `Ampere`. */
  readonly architecture: string
  /** Chip name. Boards with the same chip differ only in enabled units, memory, clocks and limits. */
  readonly chip: string
  /** Foundry and node of the chip, e.g. `TSMC 7N`. */
  readonly process: string
  /** Die area, summed over all compute dies, mm2. Default: a simulator's estimate from the chip's name and its SMs. */
  readonly dieMm2?: number
  readonly computeCapability: string
  /** Streaming multiprocessors that a process can use. */
  readonly smCount: number
  /** Number of SMs that MPS allocates together (one TPC). */
  readonly smPerTpc: number
  readonly baseClockMhz: number
  /** SM clock that the firmware boosts to under load if no clock is locked and power allows it, MHz. */
  readonly boostClockMhz: number
  /** SM clocks by memory clock, in ascending order of memory clocks. */
  readonly clockStates: readonly ClockStates[]
  /** Memory clocks that plans may use, MHz, descending. Lower memory clocks are idle states. */
  readonly performanceMemClocksMhz: readonly number[]
  readonly memoryBusBits: number
  /** Memory type, e.g. `HBM3`. Default: the type that `memoryTypeOf` derives. */
  readonly memoryType?: string
  /** Data transfers per cycle of the memory clock that NVML reports (2 for GDDR6X and HBM2). */
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
  /**
   * How the board averages its default power reading: over one second, or only over a part of each sampling period.
   */
  readonly powerReading: 'one-second-average' | 'part-time'
  readonly thermalLimitC: number
  readonly sources: readonly string[]
}

/** Returns the peak DRAM bandwidth at a memory clock, bytes/s: clock x transfers per clock x bus width. */
export function memoryBandwidth(spec: GpuSpec, memClockMhz: number): number {
  return memClockMhz * 1e6 * spec.transfersPerMemClock * (spec.memoryBusBits / 8)
}

/**
 * Returns the memory type: as the spec states it, or derived from bus width and data rate per pin (JEDEC standards;
 * Micron's data for GDDR6X).
 */
export function memoryTypeOf(spec: GpuSpec): string {
  if (spec.memoryType !== undefined) return spec.memoryType
  const gbitPerPin = (spec.performanceMemClocksMhz[0]! * spec.transfersPerMemClock) / 1000
  const kinds = spec.memoryBusBits >= 1024 ? hbmKinds : gddrKinds
  return kinds.find(([, upTo]) => gbitPerPin <= upTo)![0]
}

/** HBM types, with the highest data rate per pin of any board that uses them, Gbit/s. */
const hbmKinds: readonly (readonly [string, number])[] = [
  ['HBM2', 2.5],
  ['HBM2e', 3.7],
  ['HBM3', 5.6],
  ['HBM3e', Number.POSITIVE_INFINITY],
]
/** GDDR types, with the highest data rate per pin of any board that uses them, Gbit/s. */
const gddrKinds: readonly (readonly [string, number])[] = [
  ['GDDR5', 9.1],
  ['GDDR5X', 11.5],
  ['GDDR6', 18.1],
  ['GDDR6X', 24],
  ['GDDR7', Number.POSITIVE_INFINITY],
]

/**
 * Dense tensor throughput in formats narrower than FP16, by compute capability, operations per clock and SM. Source:
 * NVIDIA's architecture whitepapers.
 */
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

/**
 * Returns the dense tensor throughput in a narrow format, operations per clock and SM; 0 if the tensor cores do not
 * support the format.
 */
export function narrowOpPerClockPerSm(spec: GpuSpec, format: 'fp8' | 'int8' | 'fp4'): number {
  const rates = narrowRates[spec.computeCapability]
  // FP8 has twice the FP16 rate. It cannot be in the table by compute capability, because GeForce boards have half the
  // rate in both formats.
  if (format === 'fp8') return rates?.hasFp8 ? 2 * spec.tensorFlopPerClockPerSm : 0
  return rates?.[format] ?? 0
}

/**
 * Returns the number of SMs that an MPS client with this active thread percentage gets. MPS rounds down to whole TPCs,
 * but gives at least one: of 108 SMs, 5 % gives 4 and 10 % gives 10.
 */
export function smsOfShare(spec: GpuSpec, mpsPercent: number): number {
  const tpcs = Math.floor((mpsPercent / 100) * (spec.smCount / spec.smPerTpc) + 1e-9)
  return Math.max(1, tpcs) * spec.smPerTpc
}

/** Returns the SM clocks supported at a memory clock, MHz, ascending; undefined for an unknown memory clock. */
export function smClocksAt(spec: GpuSpec, memClockMhz: number): readonly number[] | undefined {
  return spec.clockStates.find((state) => state.memClockMhz === memClockMhz)?.smClocksMhz
}
