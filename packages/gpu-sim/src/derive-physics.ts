import { type GpuSpec, InvalidInputError, memoryBandwidth, networkNames, type Tenant } from '@pctodl/platform'
import type { BoardPhysics, FirmwarePhysics, PowerPhysics, SensorPhysics, WorkPhysics } from './board-physics.js'
import { relativeVoltage, settledPower } from './board-power.js'
import { regulatedLimitW } from './firmware-governor.js'
import { siliconOf } from './silicon.js'
import { SteadyStateSolver } from './steady-state.js'

/** A board with known coefficients. */
export interface KnownBoard {
  readonly spec: GpuSpec
  readonly physics: BoardPhysics
}

export interface DeriveOptions {
  /**
   * Whether to reduce the energies of a board that could not run at its base clock within its default power limit.
   * Default true.
   */
  readonly sustain?: boolean
  /** Board whose energies are scaled. Default: the board from which all other coefficients are scaled. */
  readonly energies?: KnownBoard
}

/**
 * Derives the coefficients of an uncalibrated board from a calibrated one by the ratio of their data sheets. The result
 * is an extrapolation: right in direction and order of magnitude, not to a percent. Coefficients of the host (launches,
 * images, process start) and of the framework (traffic, attained shares of peaks) are copied unchanged.
 */
export function derivePhysics(
  spec: GpuSpec,
  from: KnownBoard,
  { sustain = true, energies = from }: DeriveOptions = {},
): BoardPhysics {
  const limits = spec.powerLimitW.default / from.spec.powerLimitW.default
  const { thermal } = from.physics
  const power = derivePower(spec, from, energies)
  const derived: BoardPhysics = {
    ...from.physics,
    work: { ...deriveWork(spec, from), ...productsOf(spec, from, power) },
    power,
    // A cooler is built for its board, so the temperature rise at the default power limit is taken to be the same.
    thermal: {
      ...thermal,
      resistance: thermal.resistance / limits,
      dieResistance: thermal.dieResistance / limits,
    },
    firmware: deriveFirmware(spec, from.physics.firmware),
    sensor: deriveSensor(spec, from.physics.sensor),
  }
  return sustain && spec !== from.spec ? sustainingBaseClock(spec, derived) : derived
}

/**
 * Reduces the energies of a board until it can run every network of the zoo at its base clock within its default power
 * limit, as vendors promise. If it cannot with the scaled energies, these are too high: the chip runs at a lower
 * voltage than its process alone suggests.
 *
 * @throws InvalidInputError if the board exceeds its limit without any work
 */
function sustainingBaseClock(spec: GpuSpec, physics: BoardPhysics): BoardPhysics {
  const allowedW = regulatedLimitW(physics.firmware, spec.powerLimitW.default)
  let sustaining = physics
  // Leakage depends on temperature, so the reduction is found by a few iterations.
  for (let round = 0; round < 6; round++) {
    const { totalW, dynamicW } = worstAtBaseClock(spec, sustaining)
    if (totalW <= allowedW) return sustaining
    const lower = (dynamicW - (totalW - allowedW) * 1.02) / dynamicW
    if (lower <= 0) {
      const expected = `more than the ${Math.ceil(totalW - dynamicW)} W that ${spec.name} draws before it computes; give dieMm2 if its die is smaller`
      throw new InvalidInputError('spec.powerLimitW.default', spec.powerLimitW.default, expected)
    }
    const { power } = sustaining
    const names = ['clockTreeW', 'busySmW', 'flopPj', 'vectorOpPj', 'l2BytePj', 'dramBytePj'] as const
    sustaining = {
      ...sustaining,
      power: { ...power, ...Object.fromEntries(names.map((name) => [name, lower * power[name]])) },
    }
  }
  return sustaining
}

/**
 * Power at the base clock for the network that draws the most, run either as one process on all SMs or as four with a
 * quarter each.
 */
function worstAtBaseClock(spec: GpuSpec, physics: BoardPhysics): { totalW: number; dynamicW: number } {
  const solver = new SteadyStateSolver(spec, physics, { host: 'device-only' })
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  let worst = { totalW: 0, dynamicW: 0 }
  for (const model of networkNames) {
    for (const count of [1, 4]) {
      const tenants: Tenant[] = Array.from({ length: count }, () => {
        return { model, mpsPercent: 100 / count, batchSize: 32 }
      })
      const state = solver.solve({ tenants, smClockMhz: spec.baseClockMhz, memClockMhz })
      const power = settledPower(spec, physics, state, spec.baseClockMhz, memClockMhz)
      if (power.totalW > worst.totalW) worst = power
    }
  }
  return worst
}

function deriveWork(spec: GpuSpec, { spec: known, physics: { work } }: KnownBoard): WorkPhysics {
  const boost = spec.boostClockMhz / known.boostClockMhz
  // An SM can have the same number of memory requests in flight at any clock. But a board with more bandwidth per SM
  // was built so that its SMs can use it.
  const request = Math.max(boost, bandwidthPerSm(spec) / bandwidthPerSm(known))
  return {
    ...work,
    ...measuredNeighbours[spec.chip],
    efficiency: {
      ...work.efficiency,
      linear:
        spec.tensorFlopPerClockPerSm > HALF_RATE || spec.key === known.key
          ? work.efficiency.linear
          : HALF_RATE_PRODUCTS,
    },
    depthwiseFlopPerClockPerSm:
      work.depthwiseFlopPerClockPerSm * (spec.fp32FlopPerClockPerSm / known.fp32FlopPerClockPerSm),
    dramEfficiency: siliconOf(spec).memory.attained ?? work.dramEfficiency,
    smBandwidthGBs: work.smBandwidthGBs * request,
    // The path between an SM and L2 has the same width on all boards, so L2 bandwidth scales with the clock only.
    l2BandwidthFactor: Math.max(1, (work.l2BandwidthFactor * boost) / request),
  }
}

/**
 * FLOP per clock and SM at or below which tensor units count as half rate. GeForce boards since Ampere accumulate at
 * half rate, so their tensor units are easier to keep busy. Identified on vision transformers of an RTX 3090.
 */
const HALF_RATE = 512
const HALF_RATE_PRODUCTS = 0.88

/**
 * Slowdown by a co-runner on other SMs, for chips on which pairs were measured. It excludes the lower clock that both
 * get at the power limit. It is fitted to AlexNet and SSD as co-runners on a V100 (iGniter). ResNet-50 with VGG-19, and
 * KACE's pairs, were held out.
 */
const measuredNeighbours: Readonly<Record<string, Pick<WorkPhysics, 'neighbourCost' | 'neighbourLaw'>>> = {
  GV100: { neighbourCost: 0.27, neighbourLaw: 'compute' },
}

function bandwidthPerSm(spec: GpuSpec): number {
  return memoryBandwidth(spec, spec.performanceMemClocksMhz[0]!) / spec.smCount
}

function derivePower(spec: GpuSpec, from: KnownBoard, { spec: known, physics: { power } }: KnownBoard): PowerPhysics {
  const curve = deriveVoltage(spec, from.spec, from.physics.power)
  const squared = curve.voltageAtBoost ** 2
  const [own, theirs] = [siliconOf(spec), siliconOf(known)]
  const area = own.dieMm2 / theirs.dieMm2
  const gates = (own.process.switching / theirs.process.switching) * squared
  const wires = (own.movement / theirs.movement) * squared
  const boost = spec.boostClockMhz / known.boostClockMhz
  const [idleW, limitW] = measuredIdle[spec.chip] ?? [power.idleW, known.powerLimitW.default]
  const topOf = ({ performanceMemClocksMhz }: GpuSpec) => performanceMemClocksMhz[0]!
  const background =
    (own.memory.backgroundW * spec.memoryBusBits * topOf(known)) /
    (theirs.memory.backgroundW * known.memoryBusBits * topOf(spec))
  return {
    ...power,
    boardW: power.boardW * area,
    leakageW: power.leakageW * area * (own.process.leakage / theirs.process.leakage) * curve.voltageAtBoost,
    idleW: idleW * Math.sqrt(spec.powerLimitW.default / limitW),
    dramBackgroundWPerMhz: power.dramBackgroundWPerMhz * background,
    clockTreeW: power.clockTreeW * area * boost * (own.process.clockTree / theirs.process.clockTree) * squared,
    // The power of an occupied SM differs by a factor of ten between chips, so a value that was measured on the same
    // chip is used if there is one.
    busySmW:
      spec.chip === from.spec.chip
        ? from.physics.power.busySmW * (spec.boostClockMhz / from.spec.boostClockMhz) * squared
        : power.busySmW * boost * gates,
    flopPj: power.flopPj * gates * (Number(spec.computeCapability) < 7 ? withoutTensorUnits(spec) : 1),
    vectorOpPj: power.vectorOpPj * wires,
    l2BytePj: power.l2BytePj * wires,
    dramBytePj: power.dramBytePj * (own.memory.bytePj / theirs.memory.bytePj),
    voltageSlope: curve.slope,
    voltageFloor: curve.floor,
  }
}

/** Power of a board without processes, W, and its limit. Source: `evidence/H100`. */
const measuredIdle: Readonly<Record<string, readonly [idleW: number, limitW: number]>> = { GH100: [73, 700] }

/**
 * Energy of a vector-unit operation relative to a tensor-unit operation. It is derived from the V100, whose vector
 * units have an eighth of its tensor units' rate. Chips before Volta have only vector units for matrix work.
 */
function withoutTensorUnits({ tensorFlopPerClockPerSm, fp32FlopPerClockPerSm }: GpuSpec): number {
  return 8 / (tensorFlopPerClockPerSm / fp32FlopPerClockPerSm)
}

/**
 * Energy per operation of a matrix product on TSMC 7N at boost voltage, pJ. `tensor` (half precision) is identified on
 * products of an H200 at its limit (690 W at 680 TFLOP/s). `vector` (single precision) lies between fused multiply-adds
 * of constants (7, A100) and a large product (10, V100 at 297 W).
 */
const PRODUCT_PJ = { tensor: 1.5, vector: 8 }

function productsOf(spec: GpuSpec, from: KnownBoard, power: PowerPhysics): Pick<WorkPhysics, 'productEnergy'> {
  if (spec.key === from.spec.key) return {}
  const { voltageAtBoost } = deriveVoltage(spec, from.spec, from.physics.power)
  const scale = (siliconOf(spec).process.switching * voltageAtBoost ** 2) / power.flopPj
  return { productEnergy: { tensor: PRODUCT_PJ.tensor * scale, vector: PRODUCT_PJ.vector * scale } }
}

/**
 * Voltage curves by chip or process, each measured on one chip. With them, the power of compute-bound kernels at ten
 * clocks of a V100 (NV-DVFS-Benchmark, rows from 600 MHz up) follows V^2 f within 1 %. The slope of GH100 is that of an
 * H100 at its limit, from 1485 to 1980 MHz (`evidence/H100`); its floor is assumed to equal the A100's.
 */
const measuredVoltage: Readonly<Record<string, { readonly slope: number; readonly floor: number }>> = {
  'TSMC 16FF': { slope: 0.77, floor: 0.74 },
  'TSMC 12FFN': { slope: 0.77, floor: 0.74 },
  GH100: { slope: 0.8, floor: 0.72 },
}

/**
 * Derives the voltage curve of a board from a calibrated board. Boards with the same chip have the same voltage at the
 * same clock, so a lower boost clock is a lower point on the same curve. Another chip gets the curve that was measured
 * for it or for its process. Without a measurement, it gets the calibrated board's curve, relative to its own boost clock.
 */
function deriveVoltage(spec: GpuSpec, known: GpuSpec, power: PowerPhysics) {
  const { voltageSlope, voltageFloor } = power
  if (spec.chip !== known.chip) {
    const { slope, floor } = measuredVoltage[spec.chip] ??
      measuredVoltage[spec.process] ?? { slope: voltageSlope, floor: voltageFloor }
    return { voltageAtBoost: 1, slope, floor }
  }
  const boost = spec.boostClockMhz / known.boostClockMhz
  const voltageAtBoost = relativeVoltage(known, { power }, spec.boostClockMhz)
  return { voltageAtBoost, slope: (voltageSlope * boost) / voltageAtBoost, floor: voltageFloor / voltageAtBoost }
}

/**
 * How boards of a generation regulate power at a limit. A V100 with a limit of 300 W settles at 295 to 298 W; with a
 * limit of 100 W it settles the same number of watts below it. The air-cooled RTX 3090 has a bound of its own: it draws
 * 327 to 334 W at every limit from 330 to 370 W (club-3090's sweeps).
 */
function deriveFirmware(spec: GpuSpec, firmware: FirmwarePhysics): FirmwarePhysics {
  return {
    ...firmware,
    margin: spec.architecture === 'Volta' ? 0 : firmware.margin,
    marginW: spec.architecture === 'Volta' ? 3.6 : firmware.marginW,
    plateauW: spec.key === 'RTX3090' ? 333 : null,
    plateauUpToW: spec.key === 'RTX3090' ? 370 : 0,
  }
}

/**
 * How the power sensor of a generation averages. Sources: arXiv 2312.02741, and NVML's description of its power
 * readings.
 */
function deriveSensor(spec: GpuSpec, sensor: SensorPhysics): SensorPhysics {
  if (spec.architecture === 'Volta') return { ...sensor, periodMs: 20, averageWindowMs: 10, instantWindowMs: 10 }
  if (spec.architecture === 'Turing') return { ...sensor, periodMs: 100, averageWindowMs: 100, instantWindowMs: 100 }
  const averageWindowMs = spec.powerReading === 'one-second-average' ? 1000 : 25
  return { ...sensor, averageWindowMs, instantWindowMs: averageWindowMs === 1000 ? 100 : 25 }
}
