import { makeNonDecreasing } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'

/** Throughput at one CPU count, in any unit. */
export interface CurvePoint {
  readonly cpus: number
  readonly throughput: number
}

/** What the measured points say about another CPU count. */
export interface CurveEstimate {
  readonly cpus: number
  readonly throughput: number
  readonly low: number
  readonly high: number
  readonly measured: boolean
}

/**
 * Throughput over CPU cores, known at a few points: it never falls with more cores, and each further core gives at most as
 * much as the one before (no cores, no throughput). So between two points the curve lies above their chord and below the
 * lines through their neighbours: both bounds meet where the curve is straight, which is why few points suffice.
 */
export class ThroughputCurve {
  readonly points: readonly CurvePoint[]

  /** @throws InvalidInputError for no points, and for points that are no throughputs */
  constructor(points: readonly CurvePoint[]) {
    if (points.length === 0) throw new InvalidInputError('points', 'none', 'at least one measured point')
    for (const { cpus, throughput } of points) {
      if (!(cpus > 0)) throw new InvalidInputError('cpus', cpus, 'a positive number')
      if (!(throughput > 0 && Number.isFinite(throughput))) {
        throw new InvalidInputError('throughput', throughput, 'a positive number')
      }
    }
    this.points = monotone([...points].sort((a, b) => a.cpus - b.cpus))
  }

  get best(): number {
    return this.points[this.points.length - 1]!.throughput
  }

  at(cpus: number): CurveEstimate {
    const { points } = this
    const next = points.findIndex((point) => point.cpus >= cpus)
    if (next >= 0 && points[next]!.cpus === cpus) {
      const { throughput } = points[next]!
      return { cpus, throughput, low: throughput, high: throughput, measured: true }
    }
    if (next < 0)
      throw new InvalidInputError('cpus', cpus, `at most ${points[points.length - 1]!.cpus}, the most measured`)
    const origin = { cpus: 0, throughput: 0 }
    const a = points[next - 1] ?? origin
    const b = points[next]!
    const low = line(a, b, cpus)
    let high = b.throughput
    // The slope before `a` is no smaller than the one after it; before the first point there is the origin.
    const before = next >= 2 ? points[next - 2]! : next === 1 ? origin : null
    if (before !== null) high = Math.min(high, line(before, a, cpus))
    const after = points[next + 1]
    if (after !== undefined) high = Math.min(high, line(b, after, cpus))
    // Noise can bend a curve the wrong way: then the bounds change places, but the curve still never falls.
    high = Math.max(high, a.throughput)
    const [least, most] = low <= high ? [low, high] : [high, low]
    return { cpus, throughput: (least + most) / 2, low: least, high: most, measured: false }
  }
}

function line(a: CurvePoint, b: CurvePoint, cpus: number): number {
  return a.throughput + ((b.throughput - a.throughput) * (cpus - a.cpus)) / (b.cpus - a.cpus)
}

/** The closest non-falling curve in least squares. */
function monotone(points: readonly CurvePoint[]): CurvePoint[] {
  const values = Float64Array.from(points, ({ throughput }) => throughput)
  makeNonDecreasing(values)
  return points.map(({ cpus }, i) => ({ cpus, throughput: values[i]! }))
}
