import { makeNonDecreasing } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import { assertInteger, assertPositive } from '../checks.js'

export interface CurvePoint {
  readonly cpus: number
  readonly throughput: number
}

/** Estimate at an unmeasured CPU count, from the measured points. */
export interface CurveEstimate {
  readonly cpus: number
  readonly throughput: number
  readonly low: number
  readonly high: number
  readonly measured: boolean
}

/**
 * Throughput as a function of CPU cores, measured at a few points. It never falls with more cores, each further core
 * gains less, and zero cores give zero throughput. So between two points the curve lies above their chord and below the
 * lines through neighbouring points. Both bounds meet where the curve is straight, so few points suffice.
 */
export class ThroughputCurve {
  readonly points: readonly CurvePoint[]

  /** @throws InvalidInputError without points, or for invalid throughputs */
  constructor(points: readonly CurvePoint[]) {
    if (points.length === 0) throw new InvalidInputError('points', 'none', 'at least one measured point')
    for (const { cpus, throughput } of points) {
      assertPositive('cpus', cpus)
      assertPositive('throughput', throughput)
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
      throw new InvalidInputError('cpus', cpus, `at most ${points[points.length - 1]!.cpus}, the largest measured`)
    const origin = { cpus: 0, throughput: 0 }
    const a = points[next - 1] ?? origin
    const b = points[next]!
    const low = line(a, b, cpus)
    let high = b.throughput
    // The slope before `a` is at least the slope after it; before the first point lies the origin.
    const before = next >= 2 ? points[next - 2]! : next === 1 ? origin : null
    if (before !== null) high = Math.min(high, line(before, a, cpus))
    const after = points[next + 1]
    if (after !== undefined) high = Math.min(high, line(b, after, cpus))
    // Noise can bend the curve against the assumption. The bounds are then swapped.
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

export interface CpuSearchOptions {
  readonly maxCpus: number
  /** GPUs of the job. Core counts are multiples of it, since each GPU's loader gets the same number. Default 1. */
  readonly gpus?: number
  /** Maximum error of an estimated point, percent. Default 5. */
  readonly tolerancePercent?: number
}

export interface CpuSearchResult {
  /** Measured core counts in run order. */
  readonly runs: readonly CurvePoint[]
  readonly curve: readonly CurveEstimate[]
  /** Smallest core count within 10 % of the best throughput. */
  readonly kneeCpus: number
  /** Maximum error of an estimated point if the curve is concave, percent. */
  readonly worstErrorPercent: number
}

/** Fraction of the best throughput that defines the knee. */
const KNEE = 0.9

/**
 * Finds throughput as a function of CPU cores with few runs. The largest and the smallest core count are run first,
 * then always the point with the widest bounds, until all points are within the tolerance. Remaining runs narrow the
 * knee. At most a third of the core counts are run, or three if that is more.
 *
 * @param measure runs the job with a number of cores; any error ends the search
 * @throws InvalidInputError
 */
export async function searchCpus(
  measure: (cpus: number) => Promise<number>,
  options: CpuSearchOptions,
): Promise<CpuSearchResult> {
  const { gpus = 1, tolerancePercent = 5 } = options
  assertInteger('gpus', gpus)
  if (!(Number.isInteger(options.maxCpus) && options.maxCpus >= gpus)) {
    throw new InvalidInputError('maxCpus', options.maxCpus, `an integer of at least ${gpus}, one core a GPU`)
  }
  assertPositive('tolerancePercent', tolerancePercent)
  const counts = Array.from({ length: Math.floor(options.maxCpus / gpus) }, (_, i) => (i + 1) * gpus)
  const maxRuns = Math.max(3, Math.floor(counts.length / 3))

  const runs: CurvePoint[] = []
  const run = async (cpus: number) => {
    runs.push({ cpus, throughput: await measure(cpus) })
  }
  await run(counts[counts.length - 1]!)
  if (counts.length > 1) await run(counts[0]!)
  for (;;) {
    const curve = new ThroughputCurve(runs)
    const estimates = counts.map((cpus) => curve.at(cpus))
    const least = KNEE * curve.best
    const worst = estimates.reduce((most, estimate) => (errorPercent(estimate) > errorPercent(most) ? estimate : most))
    const next = runs.length >= maxRuns ? undefined : nextCount(estimates, worst, tolerancePercent, least, gpus)
    if (next === undefined) {
      return {
        runs,
        curve: estimates,
        kneeCpus: estimates.find(({ throughput }) => throughput >= least)!.cpus,
        worstErrorPercent: errorPercent(worst),
      }
    }
    await run(next)
  }
}

/**
 * Returns the maximum relative error of an estimate halfway between its bounds, percent: half the distance of the
 * bounds over the lower one.
 */
export function errorPercent({ low, high }: { low: number; high: number }): number {
  return ((high - low) / 2 / low) * 100
}

function nextCount(
  estimates: readonly CurveEstimate[],
  worst: CurveEstimate,
  tolerancePercent: number,
  least: number,
  gpus: number,
): number | undefined {
  if (errorPercent(worst) > tolerancePercent) return worst.cpus
  // The knee lies between the first point that may be fast enough and the first that surely is.
  const from = estimates.findIndex(({ high }) => high >= least)
  const to = estimates.findIndex(({ low }) => low >= least)
  if (estimates[to]!.cpus - estimates[from]!.cpus <= gpus) return undefined
  const middle = estimates[Math.floor((from + to) / 2)]!
  return middle.measured ? undefined : middle.cpus
}
