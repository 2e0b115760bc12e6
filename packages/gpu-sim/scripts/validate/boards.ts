import { findGpuSpec, type GpuSpec, gpuSpecs } from '@pctodl/platform'
import { boardPower } from '../../src/board-power.js'
import { regulatedLimitW } from '../../src/firmware-governor.js'
import { physicsOfBoard } from '../../src/index.js'

/**
 * The board that a table names.
 *
 * @param highestCapW of the table: a name that several forms of a chip share means the one with that default limit
 * @throws UnknownNameError for a name that no board has
 */
export function boardNamed(name: string, highestCapW?: number): GpuSpec {
  const spec = findGpuSpec(name.replace(/^(?:NVIDIA )?(?:GeForce )?/, ''))
  if (highestCapW === undefined || spec.powerLimitW.max === highestCapW) return spec
  const forms = Object.values(gpuSpecs).filter(({ chip, smCount }) => chip === spec.chip && smCount === spec.smCount)
  const form = forms.find(({ powerLimitW }) => powerLimitW.max === highestCapW) ?? spec
  if (highestCapW <= form.powerLimitW.max) return form
  // Board partners sell other limits than the reference board's.
  return { ...form, powerLimitW: { ...form.powerLimitW, max: highestCapW } }
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
  const physics = physicsOfBoard(spec)
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
  const targetW = regulatedLimitW(physicsOfBoard(spec).firmware, limitW)
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
