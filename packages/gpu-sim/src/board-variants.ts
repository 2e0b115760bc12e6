import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { findGpuSpec, type GpuSpec, InvalidInputError } from '@pctodl/platform'
import rtx3080TiFits from '../coefficients/3080Ti.variants.json' with { type: 'json' }
import a100Fits from '../coefficients/A100.variants.json' with { type: 'json' }
import type { BoardPhysics, FirmwarePhysics, PowerPhysics, SensorPhysics } from './board-physics.js'
import { derivePhysics, type KnownBoard } from './derive-physics.js'
import { type HostProfile, hostOfBoard } from './host-profile.js'
import { calibratedBoards, energiesOf, originOfBoard, physicsOfBoard } from './physics-of-board.js'

/**
 * A board that agrees with the measurements about as well as the shipped board, but has other equations or
 * coefficients.
 */
export interface BoardVariant {
  /**
   * Name made of the board, the seed (left out if it is 1) and the index, e.g. `A100~v3` or `A100~s7v3`. Every option
   * that takes a board's name accepts it.
   */
  readonly name: string
  /** Description of the differences from the shipped board. */
  readonly differs: string
  readonly spec: GpuSpec
  readonly physics: BoardPhysics
  readonly host: HostProfile
}

export interface BoardVariantsOptions {
  /** Number of variants. Default 8. */
  readonly count?: number
  /** Seed of the drawn variants. Default 1. */
  readonly seed?: number
}

/** A combination of equations with the coefficients fitted to a calibrated board. */
interface StructureFit {
  readonly structure: string
  readonly physics: BoardPhysics
  readonly host: Omit<HostProfile, 'name'>
  /** Paths of the fitted coefficients, e.g. `host.kernelFloorUs`. */
  readonly paths: readonly string[]
  /**
   * Lower triangular matrix. It turns independent standard normal numbers into relative changes of the coefficients
   * that the measurements allow.
   */
  readonly spread: readonly (readonly number[])[]
}

const fits: Readonly<Record<string, readonly StructureFit[]>> = {
  '3080Ti': rtx3080TiFits as unknown as StructureFit[],
  A100: a100Fits as unknown as StructureFit[],
}

/**
 * Returns boards that agree with the measurements about as well as the shipped board, but differ from it and from each
 * other. They differ in coefficients (drawn from the posterior of the fit), in the equations for contention,
 * saturation, voltage and host, and in firmware, cooler and sensor. A method that works only on one exact board fails
 * on some of them. The first variants of a seed are the same for every `count`.
 *
 * @param board key, product name or alias
 * @throws UnknownNameError for a board that cannot be simulated
 * @throws InvalidInputError for a count that is not a whole number from 1 to 10,000
 */
export function boardVariants(board: string, { count = 8, seed = 1 }: BoardVariantsOptions = {}): BoardVariant[] {
  if (!Number.isInteger(count) || count < 1 || count > 10_000) {
    throw new InvalidInputError('count', count, 'a whole number from 1 to 10000')
  }
  const spec = findGpuSpec(board)
  return Array.from({ length: count }, (_, i) => boardVariant(spec, i + 1, seed))
}

/**
 * Finds the variant with a name like `A100~v3`. Returns null for a name without `~`.
 * @throws InvalidInputError for a misspelt variant name
 */
export function findBoardVariant(name: string): BoardVariant | null {
  if (!name.includes('~')) return null
  const [, board, seed, index] = /^(.+)~(?:s(\d{1,9}))?v([1-9]\d{0,4})$/.exec(name) ?? []
  if (board === undefined)
    throw new InvalidInputError('board', name, 'a board, or a variant of one: A100~v3, A100~s7v3')
  return boardVariant(findGpuSpec(board), Number(index), seed === undefined ? 1 : Number(seed))
}

function boardVariant(spec: GpuSpec, index: number, seed: number): BoardVariant {
  // Throws if the board cannot be simulated.
  physicsOfBoard(spec)
  const random = new SeededRandom(seedFrom(spec.key, seed, 'variant', index))
  const origin = originOfBoard(spec)
  const ofOrigin = fits[origin]!
  // Variants cycle through the combinations of equations, so that even a few variants have different ones.
  const fit = ofOrigin[index % ofOrigin.length]!
  const drawn = drawCoefficients(fit, random)
  const known = { spec: findGpuSpec(origin), physics: drawn.physics }
  const derived = spec.key === origin ? drawn.physics : derivedVariant(spec, known)
  const usual = hostOfBoard(spec)
  const firmware = drawFirmware(spec, derived.firmware, random)
  const sensor = drawSensor(spec, derived.sensor, random)
  const { thermal, power } = derived
  const cooler = within(random, 0.9, 1.1)
  const physics: BoardPhysics = {
    ...derived,
    firmware: firmware.physics,
    sensor,
    power: { ...power, leakageScaleK: power.leakageScaleK * within(random, 0.8, 1.25) },
    thermal: {
      ...thermal,
      ambientC: thermal.ambientC + within(random, -4, 6),
      resistance: thermal.resistance * cooler,
      dieResistance: thermal.dieResistance * cooler,
      timeConstantS: thermal.timeConstantS * within(random, 0.6, 1.6),
    },
  }
  const host = (calibratedBoards as readonly string[]).includes(spec.key)
    ? { name: 'paper', ...drawn.host }
    : { ...usual, overlap: drawn.host.overlap, launchUs: usual.launchUs * within(random, 0.75, 1.3) }
  const { contention, saturation } = physics.work
  return {
    name: `${spec.key}~${seed === 1 ? '' : `s${seed}`}v${index}`,
    differs: [
      `contention ${contention}`,
      `saturation ${saturation}`,
      `voltage ${physics.power.voltageCurve}`,
      `host overlap ${host.overlap}`,
      `firmware ${firmware.words}`,
      `sensor window ${sensor.averageWindowMs} of ${sensor.periodMs} ms`,
      'coefficients from the posterior',
    ].join(', '),
    spec,
    physics,
    host,
  }
}

/**
 * Returns a variant of a derived board. Its coefficients are derived from the board `drawn`. If its energies are
 * derived from a third board instead, each is multiplied by the ratio of the drawn to the shipped energy of `drawn`.
 */
function derivedVariant(spec: GpuSpec, drawn: KnownBoard): BoardPhysics {
  const energies = energiesOf(spec)
  if (energies.spec === drawn.spec) return derivePhysics(spec, drawn)
  const physics = derivePhysics(spec, drawn, { energies })
  const shipped = physicsOfBoard(drawn.spec).power
  const changed = Object.entries(physics.power).map(([name, value]) => {
    const [of, to] = [shipped, drawn.physics.power].map((power) => power[name as keyof PowerPhysics])
    const isEnergy = name.endsWith('Pj') || name.endsWith('W') || name === 'dramBackgroundWPerMhz'
    return [name, isEnergy ? ((value as number) * (to as number)) / (of as number) : value]
  })
  return { ...physics, power: Object.fromEntries(changed) as unknown as PowerPhysics }
}

const whole = ['efficiency', 'l2HitShare', 'contentionExponent']
const LARGEST_SHARE = 0.99
/**
 * A step of coefficients is shortened to no less than this fraction. Otherwise one coefficient at its bound would stop
 * the whole step.
 */
const SHORTEST_STEP = 0.3

/**
 * Largest difference of a coefficient's natural logarithm from its fitted value. Beyond it, a parabola no longer
 * approximates the fit error.
 */
const FURTHEST = 0.5

function drawCoefficients(fit: StructureFit, random: SeededRandom) {
  const copy = structuredClone({ physics: fit.physics, host: fit.host })
  const normals = fit.paths.map(() => Math.max(-2, Math.min(2, random.normal())))
  const changes = fit.spread.map((row) => row.reduce((sum, factor, j) => sum + factor * normals[j]!, 0))
  const places = fit.paths.map((path) => {
    const keys = path.split('.')
    const parent = keys.slice(0, -1).reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], copy)
    return {
      parent: parent as Record<string, number>,
      key: keys.at(-1)!,
      isShare: keys.some((key) => whole.includes(key)),
    }
  })
  // Coefficients compensate each other, so limiting one alone would contradict the measurements. Instead all changes
  // are reduced by one factor.
  const shares = places.map(({ parent, key, isShare }, i) => {
    const room = isShare && changes[i]! > 0 ? Math.max(0, Math.log(LARGEST_SHARE / parent[key]!)) : FURTHEST
    return Math.abs(changes[i]!) <= room ? 1 : room / Math.abs(changes[i]!)
  })
  const step = Math.max(SHORTEST_STEP, Math.min(1, ...shares))
  places.forEach(({ parent, key, isShare }, i) => {
    const value = parent[key]! * Math.exp(step * Math.max(-FURTHEST, Math.min(FURTHEST, changes[i]!)))
    parent[key] = isShare ? Math.min(LARGEST_SHARE, value) : value
  })
  return copy
}

/**
 * A third of the variants get a power plateau at 93 to 97 % of the default limit. The air-cooled RTX 3090 always has
 * its own plateau.
 */
function drawFirmware(spec: GpuSpec, firmware: FirmwarePhysics, random: SeededRandom) {
  const law = random.uniform() < 0.3 ? ('step' as const) : ('integral' as const)
  const plateau = random.uniform() < 1 / 3
  const share = within(random, 0.93, 0.97)
  const physics: FirmwarePhysics = {
    ...firmware,
    law,
    margin: law === 'step' ? 0 : Math.max(firmware.margin, within(random, 0, 0.007)),
    hysteresis: within(random, 0.985, 0.995),
    periodMs: 5 * Math.round(within(random, 2, 8)),
    averageMs: within(random, 40, 150),
    clockLatencyMs: within(random, 15, 60),
    ...(plateau && firmware.plateauW === null
      ? { plateauW: Math.round(share * spec.powerLimitW.default), plateauUpToW: spec.powerLimitW.max }
      : {}),
  }
  const words = physics.plateauW === null ? law : `${law} with a plateau at ${physics.plateauW} W`
  return { physics, words }
}

/** Draws another averaging window and noise, as with another driver or another NVML field. */
function drawSensor(spec: GpuSpec, sensor: SensorPhysics, random: SeededRandom): SensorPhysics {
  const windows = spec.powerReading === 'one-second-average' ? [1000, 1000, 100] : [25, 25, 100]
  return {
    ...sensor,
    averageWindowMs: sensor.averageWindowMs < 25 ? sensor.averageWindowMs : windows[random.integer(windows.length)]!,
    noiseW: sensor.noiseW * within(random, 0.5, 2),
  }
}

function within(random: SeededRandom, low: number, high: number): number {
  return low + (high - low) * random.uniform()
}
