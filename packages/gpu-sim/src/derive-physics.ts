import { type GpuSpec, memoryBandwidth } from '@pctodl/platform'
import type { BoardPhysics, PowerPhysics, SensorPhysics, WorkPhysics } from './board-physics.js'
import { boardPower } from './board-power.js'

/** A board whose coefficients are known. */
export interface KnownBoard {
  readonly spec: GpuSpec
  readonly physics: BoardPhysics
}

/**
 * Energy of a switched gate relative to TSMC 7N at the same speed. From the foundries' statements: 7 nm draws 60 % less
 * than 16 nm, of which 12 nm has already saved a quarter (TSMC 2017); 5 nm, of which 4N is a variant, 30 % less than 7 nm
 * (TSMC 2019); Samsung's 8 nm 10 % less than its 10 nm, between TSMC's 12 and 7.
 */
const switchingEnergy: Readonly<Record<GpuSpec['process'], number>> = {
  'TSMC 12FFN': 0.75 / 0.4,
  'Samsung 8N': 1.35,
  'TSMC 7N': 1,
  'TSMC 4N': 0.7,
}

/**
 * Coefficients of a board that nobody has calibrated, scaled from one that somebody has by what data sheets state of both.
 * An extrapolation: right in direction and order, not to some percent. What is a matter of the host (launches, images,
 * process start) or of the framework (traffic, attained share of peaks) is taken over as it is.
 */
export function derivePhysics(spec: GpuSpec, from: KnownBoard): BoardPhysics {
  const limits = spec.powerLimitW.default / from.spec.powerLimitW.default
  const { thermal } = from.physics
  const derived: BoardPhysics = {
    ...from.physics,
    work: deriveWork(spec, from),
    power: derivePower(spec, from, limits),
    // A cooler is built for its board: the same rise at the default limit.
    thermal: { ...thermal, resistance: thermal.resistance / limits },
    sensor: deriveSensor(spec, from.physics.sensor),
  }
  const otherClass = spec.chip !== from.spec.chip && limits < LOW_POWER
  return otherClass ? sustainingBaseClock(spec, derived, from) : derived
}

/** A default limit below this share of the known board's is a board of another class. */
const LOW_POWER = 0.5

/**
 * The base clock is what a vendor promises to hold at the default limit. Where the scaled coefficients say that a load
 * which takes the known board down to its base clock takes a low-power one lower, its energies are too high (it gets
 * better chips and slower memory than its process alone says) and are lowered until it keeps the promise, too.
 */
function sustainingBaseClock(spec: GpuSpec, physics: BoardPhysics, from: KnownBoard): BoardPhysics {
  const allowedW = physics.firmware.limitFactor * spec.powerLimitW.default
  const { totalW, fixedW } = fullLoad(spec, physics, levelAtBaseClock(from))
  if (totalW <= allowedW) return physics
  const lower = (allowedW - fixedW) / (totalW - fixedW)
  const { power } = physics
  const names = ['dramBackgroundWPerMhz', 'clockTreeW', 'busySmW', 'flopPj', 'l2BytePj', 'dramBytePj'] as const
  return { ...physics, power: { ...power, ...Object.fromEntries(names.map((name) => [name, lower * power[name]])) } }
}

/** Share of its full rates, 0..1, at which a board's default limit leaves it just its base clock. */
function levelAtBaseClock({ spec, physics }: KnownBoard): number {
  const allowedW = physics.firmware.limitFactor * spec.powerLimitW.default
  const idleW = fullLoad(spec, physics, 0).totalW
  const fullW = fullLoad(spec, physics, 1).totalW
  return Math.min(1, (allowedW - idleW) / (fullW - idleW))
}

/** Power at the base clock with all SMs, tensor units and DRAM at a share of what they attain. */
function fullLoad(spec: GpuSpec, physics: BoardPhysics, level: number): { totalW: number; fixedW: number } {
  const { work } = physics
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  const dramBytesPerS = level * work.dramEfficiency * memoryBandwidth(spec, memClockMhz)
  const state = {
    busySms: level * spec.smCount,
    flopPerS: level * work.efficiency.conv * spec.tensorFlopPerClockPerSm * spec.smCount * spec.baseClockMhz * 1e6,
    l2BytesPerS: dramBytesPerS / (1 - work.l2HitShare),
    dramBytesPerS,
  }
  const { totalW, leakageW } = boardPower(spec, physics, state, spec.baseClockMhz, memClockMhz, spec.thermalLimitC)
  return { totalW, fixedW: physics.power.boardW + leakageW }
}

function deriveWork(spec: GpuSpec, { spec: known, physics: { work } }: KnownBoard): WorkPhysics {
  const boost = spec.boostClockMhz / known.boostClockMhz
  // An SM has as many requests in flight at any clock; where a board has more bandwidth per SM, it was built to use it.
  const request = Math.max(boost, bandwidthPerSm(spec) / bandwidthPerSm(known))
  return {
    ...work,
    depthwiseFlopPerClockPerSm:
      work.depthwiseFlopPerClockPerSm * (spec.fp32FlopPerClockPerSm / known.fp32FlopPerClockPerSm),
    smBandwidthGBs: work.smBandwidthGBs * request,
    // The port between an SM and L2 is as wide on all of them, so L2 bandwidth follows the clock alone.
    l2BandwidthFactor: Math.max(1, (work.l2BandwidthFactor * boost) / request),
  }
}

function bandwidthPerSm(spec: GpuSpec): number {
  return memoryBandwidth(spec, spec.performanceMemClocksMhz[0]!) / spec.smCount
}

function derivePower(spec: GpuSpec, { spec: known, physics: { power } }: KnownBoard, limits: number): PowerPhysics {
  const sms = spec.smCount / known.smCount
  const boost = spec.boostClockMhz / known.boostClockMhz
  const curve = deriveVoltage(spec, known, power)
  const energy = (switchingEnergy[spec.process] / switchingEnergy[known.process]) * curve.voltageAtBoost ** 2
  return {
    ...power,
    // Fans and regulators are sized by the limit, and low-power boards get the chips that leak less.
    boardW: power.boardW * limits,
    leakageW: power.leakageW * limits * curve.voltageAtBoost,
    idleW: power.idleW * Math.sqrt(limits),
    dramBackgroundWPerMhz: power.dramBackgroundWPerMhz * (spec.memoryBusBits / known.memoryBusBits),
    clockTreeW: power.clockTreeW * sms * boost * energy,
    busySmW: power.busySmW * boost * energy,
    flopPj: power.flopPj * energy,
    l2BytePj: power.l2BytePj * energy,
    voltageSlope: curve.slope,
    voltageFloor: curve.floor,
  }
}

/**
 * The same chip has the same curve of voltage over MHz, so a lower boost clock sits lower on it. Another chip is taken to
 * have the same curve relative to its own boost clock.
 */
function deriveVoltage(spec: GpuSpec, known: GpuSpec, { voltageSlope, voltageFloor }: PowerPhysics) {
  if (spec.chip !== known.chip) return { voltageAtBoost: 1, slope: voltageSlope, floor: voltageFloor }
  const boost = spec.boostClockMhz / known.boostClockMhz
  const voltageAtBoost = Math.max(voltageFloor, 1 - voltageSlope * (1 - boost))
  return { voltageAtBoost, slope: (voltageSlope * boost) / voltageAtBoost, floor: voltageFloor / voltageAtBoost }
}

/** How the sensor of a generation averages: arXiv 2312.02741 and NVML's description of its power reading. */
function deriveSensor(spec: GpuSpec, sensor: SensorPhysics): SensorPhysics {
  if (spec.architecture === 'Volta') return { ...sensor, periodMs: 20, averageWindowMs: 10, instantWindowMs: 10 }
  if (spec.architecture === 'Turing') return { ...sensor, periodMs: 100, averageWindowMs: 100, instantWindowMs: 100 }
  const averageWindowMs = spec.powerReading === 'one-second-average' ? 1000 : 25
  return { ...sensor, averageWindowMs, instantWindowMs: 25 }
}
