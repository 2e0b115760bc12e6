import type { HostProfile } from '../src/host-profile.js'
import type { BoardPhysics } from '../src/index.js'

/** What the calibration fits: a board, and the host that it was measured in. */
export interface Calibrated {
  readonly physics: BoardPhysics
  readonly host: HostProfile
}

/** A coefficient that the calibration may move, within a range that keeps it physical. */
interface FreeParameter {
  readonly path: readonly string[]
  readonly low: number
  readonly high: number
  /** A plausible value of any board, for fits that must not know the shipped ones. */
  readonly typical: number
}

const free = (path: string, low: number, high: number, typical: number): FreeParameter => ({
  path: path.split('.'),
  low,
  high,
  typical,
})

export const freeParameters: readonly FreeParameter[] = [
  free('host.launchUs', 15, 60, 30),
  free('host.launchCapacityPerS', 1e5, 6e5, 230000),
  free('host.imageHostUs', 40, 600, 200),
  free('host.imageSpillUs', 5, 400, 80),
  free('host.imageCapacityPerS', 2000, 60_000, 10000),
  free('host.kernelFloorUs', 2, 25, 8),
  free('physics.work.efficiency.conv', 0.2, 0.95, 0.6),
  free('physics.work.efficiency.pointwise', 0.15, 0.95, 0.6),
  free('physics.work.efficiency.attention', 0.005, 0.7, 0.1),
  free('physics.work.halfDepth', 1, 200, 24),
  free('physics.work.depthwiseFlopPerClockPerSm', 6, 120, 30),
  free('physics.work.smBandwidthGBs', 8, 40, 18),
  free('physics.work.traffic.conv', 0.5, 4, 1),
  free('physics.work.traffic.pointwise', 0.3, 2.5, 1),
  free('physics.work.traffic.depthwise', 0.7, 4, 1),
  free('physics.work.traffic.attention', 0.7, 10, 1.5),
  free('physics.work.traffic.norm', 0.2, 2, 0.8),
  free('physics.work.traffic.elementwise', 0.4, 3, 1),
  free('physics.work.traffic.concat', 0.7, 4, 1),
  free('physics.work.traffic.copy', 0.2, 8, 1),
  free('physics.work.l2HitShare', 0.1, 0.99, 0.7),
  free('physics.work.l2CapacityFactor', 0.05, 2, 0.4),
  free('physics.work.l2BandwidthFactor', 1.5, 12, 4),
  free('physics.work.contentionExponent', 0.45, 1, 0.5),
  free('physics.work.neighbourCost', 0.002, 0.15, 0.03),
  free('physics.power.boardW', 2, 60, 20),
  free('physics.power.dramBackgroundWPerMhz', 0.001, 0.02, 0.006),
  free('physics.power.clockTreeW', 5, 80, 30),
  free('physics.power.busySmW', 0.01, 2, 0.4),
  free('physics.power.flopPj', 0.3, 8, 2),
  free('physics.power.vectorOpPj', 5, 600, 130),
  free('physics.power.l2BytePj', 2, 130, 60),
  free('physics.power.dramBytePj', 5, 200, 40),
]

/** The free coefficients as unconstrained numbers (logit within their ranges). */
export function toVector(calibrated: Calibrated): Float64Array {
  return Float64Array.from(freeParameters, (parameter) => {
    const value = parameter.path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], calibrated)
    return logit(parameter, value as number)
  })
}

/** The same of the typical values. */
export function typicalVector(): Float64Array {
  return Float64Array.from(freeParameters, (parameter) => logit(parameter, parameter.typical))
}

function logit({ low, high }: FreeParameter, value: number): number {
  // A start at a bound would stay there: the logit is flat.
  const share = Math.min(0.99, Math.max(0.01, (value - low) / (high - low)))
  return Math.log(share / (1 - share))
}

/**
 * What is known before any measurement: how far each coefficient is from its typical value, in deviations. Keeps those that
 * the rows leave open away from the ends of their ranges, and outweighs no set of rows.
 */
export function priorResiduals(vector: Float64Array): Float64Array {
  return Float64Array.from(freeParameters, (parameter, i) => (vector[i]! - logit(parameter, parameter.typical)) / PRIOR)
}

const PRIOR = 2

/** A copy with the free coefficients taken from a vector. */
export function fromVector(calibrated: Calibrated, vector: Float64Array, digits = 6): Calibrated {
  const copy = structuredClone(calibrated)
  freeParameters.forEach(({ path, low, high }, i) => {
    const value = low + (high - low) / (1 + Math.exp(-vector[i]!))
    const parent = path.slice(0, -1).reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], copy)
    ;(parent as Record<string, number>)[path.at(-1)!] = Number(value.toPrecision(digits))
  })
  return copy
}
