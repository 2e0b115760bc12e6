import { given } from '@pctodl/command-line'
import { type ClockStates, findGpuSpec, type GpuSpec, PctodlError, UnknownNameError } from '@pctodl/platform'
import { generationOf } from '../nvml/generations.js'
import type { PowerLimits } from '../nvml/nvml-device.js'
import type { BoardFacts } from './board-facts.js'

/** Properties that NVML does not report, which the user must give for a board that this release does not know. */
export interface BoardCompletion {
  /** Name of the board type on command lines. Default: the product name without vendor and spaces. */
  readonly key?: string
  /** Size of the L2 cache, bytes. Source: the data sheet or `deviceQuery`. */
  readonly l2Bytes?: number
  /** Rated base clock, MHz. Default: the default application clock, if the board has one. */
  readonly baseClockMhz?: number
  /** Clock under load without throttling, MHz. Default: the highest supported clock. */
  readonly boostClockMhz?: number
}

export class UnknownBoardError extends PctodlError {
  constructor(name: string, missing: readonly string[]) {
    const why = `${name} is not a board of this release, and NVML does not tell its ${missing.join(', ')}`
    const command = '`pctodl gpu describe --l2-mib <MiB> --base-clock <MHz> --output board.json`'
    super('UNKNOWN_BOARD', `${why}; describe it once with ${command} and pass that file as --platform-file`)
  }
}

/**
 * Returns the type of a board. For a known board, reported values replace this release's data. For an unknown board,
 * the other properties follow from its compute capability and `completion`.
 * @throws UnknownBoardError naming the missing properties
 */
export function specOfBoard(facts: BoardFacts, completion: BoardCompletion = {}): GpuSpec {
  const known = knownSpec(facts.name)
  const measured = measuredFields(facts)
  const overrides = given(completion)
  const spec = known ? { ...known, ...measured } : { ...impliedFields(facts, completion), ...measured }
  return {
    ...spec,
    ...overrides,
    performanceMemClocksMhz: performanceMemClocks(spec.clockStates, known?.performanceMemClocksMhz ?? []),
    sources: [
      ...spec.sources,
      `NVML on the board itself (${facts.name}, PCI ${facts.pciDeviceId}): SMs, memory, clock tables, limits`,
      ...Object.keys(overrides).map((field) => `${field}: given by hand`),
    ],
  }
}

function knownSpec(name: string): GpuSpec | undefined {
  try {
    return findGpuSpec(name)
  } catch (error) {
    if (error instanceof UnknownNameError) return undefined
    throw error
  }
}

/** Values that the board does not report are omitted, so that they do not replace known values. */
function measuredFields(facts: BoardFacts) {
  const { smCount, powerLimitW, thermalLimitC, clockStates, memoryBusBits, memoryBytes } = facts
  return given({
    memoryBytes,
    smCount: smCount ?? undefined,
    memoryBusBits: memoryBusBits ?? undefined,
    powerLimitW: powerLimitW ? limitsOf(powerLimitW) : undefined,
    thermalLimitC: thermalLimitC ?? undefined,
    clockStates: clockStates.length === 0 ? undefined : clockStates,
  })
}

function limitsOf({ minW, defaultW, maxW }: PowerLimits): GpuSpec['powerLimitW'] {
  return { min: minW, default: defaultW, max: maxW }
}

function impliedFields(facts: BoardFacts, { key, l2Bytes, baseClockMhz, boostClockMhz }: BoardCompletion): GpuSpec {
  const { name, computeCapability, architecture } = facts
  const generation = generationOf(computeCapability, /GeForce/.test(name))
  const base = baseClockMhz ?? facts.defaultApplicationClockMhz
  const top = Math.max(0, ...facts.clockStates.flatMap((state) => state.smClocksMhz))
  const needed = {
    [`generation (${architecture} ${computeCapability})`]: generation,
    'level-2 cache': l2Bytes,
    'base clock': base,
    'clock tables': facts.clockStates[0],
    'power limits': facts.powerLimitW,
    'SM count': facts.smCount,
    'memory bus width': facts.memoryBusBits,
    'thermal limit': facts.thermalLimitC,
  }
  const missing = Object.keys(needed).filter((name) => (needed[name] ?? null) === null)
  if (missing.length > 0) throw new UnknownBoardError(name, missing)
  const plainName = name.replace(/^NVIDIA\s+/, '')
  return {
    key: key ?? plainName.replace(/[^A-Za-z0-9-]+/g, '-'),
    name,
    aliases: [plainName.toLowerCase().replace(/[^a-z0-9]/g, '')],
    architecture,
    chip: `PCI ${facts.pciDeviceId}`,
    computeCapability,
    smCount: facts.smCount!,
    // In all known generations, one TPC has two SMs.
    smPerTpc: 2,
    baseClockMhz: base!,
    boostClockMhz: boostClockMhz ?? top,
    clockStates: facts.clockStates,
    performanceMemClocksMhz: [],
    memoryBusBits: facts.memoryBusBits!,
    // NVML reports half the data rate as the memory clock, for GDDR5 to GDDR6X and for HBM.
    transfersPerMemClock: 2,
    memoryBytes: facts.memoryBytes,
    l2Bytes: l2Bytes!,
    ...generation!,
    powerLimitW: limitsOf(facts.powerLimitW!),
    thermalLimitC: facts.thermalLimitC!,
    sources: [
      `NVIDIA's architecture whitepapers: rates per SM, SMs per TPC and process of compute capability ${computeCapability}`,
      ...(boostClockMhz === undefined ? ['boostClockMhz: the highest supported clock; a measured one is better'] : []),
    ],
  }
}

/** Returns the known memory clocks that the board supports or, if there are none, all above half the highest. */
function performanceMemClocks(clockStates: readonly ClockStates[], known: readonly number[]): number[] {
  const offered = clockStates.map((state) => state.memClockMhz)
  const kept = known.filter((mhz) => offered.includes(mhz))
  const chosen = kept.length > 0 ? kept : offered.filter((mhz) => mhz > Math.max(...offered) / 2)
  return [...chosen].sort((a, b) => b - a)
}
