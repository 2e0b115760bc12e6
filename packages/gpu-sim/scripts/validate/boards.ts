import { findGpuSpec, type GpuSpec } from '@pctodl/platform'
import { regulatedLimitW } from '../../src/firmware-governor.js'
import { type BoardPhysics, boardPower, derivePhysics, physicsOfBoard } from '../../src/index.js'

const v100 = findGpuSpec('V100')
const a100Sxm = findGpuSpec('A100-80GB')

/** Boards of the tables that the platform does not list, from their data sheets. */
export const v100Pcie: GpuSpec = {
  ...v100,
  name: 'Tesla V100-PCIE-16GB',
  baseClockMhz: 1245,
  boostClockMhz: 1380,
  powerLimitW: { min: 100, default: 250, max: 250 },
}
export const a100Pcie80: GpuSpec = {
  ...a100Sxm,
  name: 'NVIDIA A100 80GB PCIe',
  clockStates: [{ memClockMhz: 1512, smClocksMhz: a100Sxm.clockStates[0]!.smClocksMhz }],
  performanceMemClocksMhz: [1512],
  powerLimitW: { min: 150, default: 300, max: 300 },
}
const rtx3090 = findGpuSpec('RTX3090')
/** 128 SMs of the Ada generation at 2.52 GHz, 72 MB of L2, 384 bits of GDDR6X at 21 Gb/s, 450 W. */
export const rtx4090: GpuSpec = {
  ...rtx3090,
  key: 'RTX4090',
  name: 'NVIDIA GeForce RTX 4090',
  aliases: [],
  architecture: 'Ada',
  chip: 'AD102',
  process: 'TSMC 4N',
  computeCapability: '8.9',
  smCount: 128,
  baseClockMhz: 2235,
  boostClockMhz: 2520,
  clockStates: [{ memClockMhz: 10501, smClocksMhz: Array.from({ length: 155 }, (_, i) => 210 + 15 * i) }],
  performanceMemClocksMhz: [10501],
  l2Bytes: 72 * 1024 ** 2,
  tensorFlopPerClockPerSm: 512,
  powerLimitW: { min: 150, default: 450, max: 600 },
}

export function physicsFor(spec: GpuSpec): BoardPhysics {
  if (spec.key !== 'RTX4090') return physicsOfBoard(spec)
  return derivePhysics(spec, { spec: findGpuSpec('3080Ti'), physics: physicsOfBoard('3080Ti') })
}

/** A load that is not a network: what it asks of a board, at a clock relative to boost. */
export interface GenericLoad {
  /** FLOP/s at the boost clock; follows the speed. */
  readonly flopPerS: number
  readonly dramBytesPerS: number
  /** Speed at a clock relative to boost, 1 at boost. */
  readonly speed: (relativeClock: number) => number
}

export function powerOfLoad(spec: GpuSpec, load: GenericLoad, smClockMhz: number): number {
  const physics = physicsFor(spec)
  const speed = load.speed(smClockMhz / spec.boostClockMhz)
  const dramBytesPerS = load.dramBytesPerS * speed
  const state = {
    busySms: spec.smCount,
    flopPerS: load.flopPerS * speed,
    vectorOpsPerS: dramBytesPerS / 8,
    l2BytesPerS: dramBytesPerS,
    dramBytesPerS,
  }
  let totalW = 0
  let temperatureC = 60
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  for (let i = 0; i < 20; i++) {
    totalW = boardPower(spec, physics, state, smClockMhz, memClockMhz, temperatureC).totalW
    temperatureC = Math.min(spec.thermalLimitC, physics.thermal.ambientC + physics.thermal.resistance * totalW)
  }
  return totalW
}

/** The load whose power at a clock is the given one, by its arithmetic. */
export function loadDrawing(
  spec: GpuSpec,
  { dramBytesPerS, speed }: Omit<GenericLoad, 'flopPerS'>,
  smClockMhz: number,
  powerW: number,
): GenericLoad {
  const at = (flopPerS: number) => powerOfLoad(spec, { flopPerS, dramBytesPerS, speed }, smClockMhz)
  let low = -1e15
  let high = 1e16
  for (let i = 0; i < 80; i++) {
    const middle = (low + high) / 2
    if (at(middle) < powerW) low = middle
    else high = middle
  }
  return { flopPerS: low, dramBytesPerS, speed }
}

/** Clock, on average, and power to which the firmware takes a load under a limit. */
export function underLimit(spec: GpuSpec, load: GenericLoad, limitW: number): { clockMhz: number; powerW: number } {
  const targetW = regulatedLimitW(physicsFor(spec).firmware, limitW)
  const clocks = spec.clockStates.at(-1)!.smClocksMhz
  let [low, high] = [clocks[0]!, spec.boostClockMhz]
  if (powerOfLoad(spec, load, high) <= targetW) return { clockMhz: high, powerW: powerOfLoad(spec, load, high) }
  for (let i = 0; i < 40; i++) {
    const middle = (low + high) / 2
    if (powerOfLoad(spec, load, middle) <= targetW) low = middle
    else high = middle
  }
  return { clockMhz: low, powerW: powerOfLoad(spec, load, low) }
}

export const computeBound = (relativeClock: number): number => relativeClock
/** Memory takes `share` of the time at boost if nothing overlapped; joined by the 4-norm. */
export const partlyMemoryBound =
  (share: number) =>
  (relativeClock: number): number => {
    const time = (clock: number) => (((1 - share) / clock) ** 4 + share ** 4) ** 0.25
    return time(1) / time(relativeClock)
  }
