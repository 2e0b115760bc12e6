import type { BoardPhysics } from '../src/index.js'

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
  free('work.launchUs', 15, 60, 30),
  free('work.launchCapacityPerS', 1e5, 6e5, 230000),
  free('work.imageHostUs', 40, 600, 200),
  free('work.imageSpillUs', 5, 400, 80),
  free('work.imageCapacityPerS', 2000, 60_000, 10000),
  free('work.kernelFloorUs', 2, 25, 10),
  free('work.efficiency.conv', 0.2, 0.95, 0.6),
  free('work.efficiency.pointwise', 0.15, 0.95, 0.6),
  free('work.efficiency.linear', 0.05, 0.9, 0.4),
  free('work.depthwiseFlopPerClockPerSm', 6, 80, 25),
  free('work.smBandwidthGBs', 8, 40, 18),
  free('work.traffic.conv', 0.7, 2.5, 1),
  free('work.traffic.pointwise', 0.7, 2.5, 1),
  free('work.traffic.depthwise', 0.7, 4, 1),
  free('work.traffic.linear', 0.7, 2.5, 1),
  free('work.traffic.norm', 0.35, 2, 0.8),
  free('work.traffic.elementwise', 0.6, 2, 1),
  free('work.traffic.concat', 0.7, 4, 1),
  free('work.traffic.copy', 0.5, 4, 1),
  free('work.l2HitShare', 0.1, 0.99, 0.7),
  free('work.l2CapacityFactor', 0.1, 2, 0.5),
  free('work.l2BandwidthFactor', 1.5, 8, 4),
  free('work.contentionExponent', 0.45, 1, 0.5),
  free('power.boardW', 2, 60, 20),
  free('power.dramBackgroundWPerMhz', 0.001, 0.02, 0.006),
  free('power.clockTreeW', 5, 80, 30),
  free('power.busySmW', 0.05, 1.5, 0.3),
  free('power.flopPj', 0.3, 10, 2),
  free('power.l2BytePj', 10, 300, 150),
  free('power.dramBytePj', 10, 250, 80),
  free('power.voltageSlope', 0.3, 1, 0.7),
  free('power.voltageFloor', 0.4, 0.85, 0.6),
  free('firmware.limitFactor', 0.9, 1, 0.95),
]

/** The free coefficients as unconstrained numbers (logit within their ranges). */
export function toVector(physics: BoardPhysics): Float64Array {
  return Float64Array.from(freeParameters, (parameter) => {
    const value = parameter.path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], physics)
    return logit(parameter, value as number)
  })
}

/** The same of the typical values. */
export function typicalVector(): Float64Array {
  return Float64Array.from(freeParameters, (parameter) => logit(parameter, parameter.typical))
}

function logit({ low, high }: FreeParameter, value: number): number {
  const share = Math.min(0.995, Math.max(0.005, (value - low) / (high - low)))
  return Math.log(share / (1 - share))
}

/** A copy of `physics` with the free coefficients taken from a vector. */
export function fromVector(physics: BoardPhysics, vector: Float64Array): BoardPhysics {
  const copy = structuredClone(physics)
  freeParameters.forEach(({ path, low, high }, i) => {
    const value = low + (high - low) / (1 + Math.exp(-vector[i]!))
    const parent = path.slice(0, -1).reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], copy)
    ;(parent as Record<string, number>)[path.at(-1)!] = Number(value.toPrecision(6))
  })
  return copy
}
