import { makeNonDecreasing } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import { assertInteger, assertPositive } from '../errors.js'

export interface CurvePoint {
  readonly cpus: number
  readonly throughput: number
}

/** Throughput at a CPU count: measured, or halfway between its bounds. */
export interface CurveEstimate extends CurvePoint {
  readonly low: number
  readonly high: number
  readonly measured: boolean
}

const origin: CurvePoint = { cpus: 0, throughput: 0 }

/**
 * Estimates throughput at CPU counts from a few measured points. It never falls with more cores, each further core
 * gains less, and zero cores give zero throughput. So between two points the curve lies above their chord and below the
 * lines through neighbouring points. Both bounds meet where the curve is straight, so few points suffice.
 *
 * @param counts ascending, none above the largest measured count
 */
function estimate(measured: readonly CurvePoint[], counts: readonly number[]): CurveEstimate[] {
  const points = [...measured].sort((a, b) => a.cpus - b.cpus)
  for (const { throughput } of points) assertPositive('throughput', throughput)
  // Noise can make a measured curve fall: the closest non-falling curve in least squares replaces it.
  const values = Float64Array.from(points, ({ throughput }) => throughput)
  makeNonDecreasing(values)
  const known = [origin, ...points.map(({ cpus }, i) => ({ cpus, throughput: values[i]! }))]
  return counts.map((cpus): CurveEstimate => {
    const next = known.findIndex((point) => point.cpus >= cpus)
    const [a, b, after] = [known[next - 1]!, known[next]!, known[next + 1]]
    const { throughput } = b
    if (b.cpus === cpus) return { cpus, throughput, low: throughput, high: throughput, measured: true }
    const chord = line(a, b, cpus)
    // The slope before `a` is at least the slope after it.
    const before = known[next - 2]
    let high = throughput
    if (before !== undefined) high = Math.min(high, line(before, a, cpus))
    if (after !== undefined) high = Math.min(high, line(b, after, cpus))
    // Noise can bend the curve against the assumption. The bounds are then swapped.
    high = Math.max(high, a.throughput)
    const [least, most] = chord <= high ? [chord, high] : [high, chord]
    return { cpus, throughput: (least + most) / 2, low: least, high: most, measured: false }
  })
}

/** The straight line through two points, at a CPU count. */
function line(a: CurvePoint, b: CurvePoint, cpus: number): number {
  return a.throughput + ((b.throughput - a.throughput) * (cpus - a.cpus)) / (b.cpus - a.cpus)
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
  const { gpus = 1, tolerancePercent = 5, maxCpus } = options
  assertInteger('gpus', gpus)
  if (!(Number.isInteger(maxCpus) && maxCpus >= gpus)) {
    throw new InvalidInputError('maxCpus', maxCpus, `an integer of at least ${gpus}, one core a GPU`)
  }
  assertPositive('tolerancePercent', tolerancePercent)
  const counts = Array.from({ length: Math.floor(maxCpus / gpus) }, (_, i) => (i + 1) * gpus)
  const maxRuns = Math.max(3, Math.floor(counts.length / 3))
  const runs: CurvePoint[] = []
  let next: number | undefined = counts.at(-1)!
  for (;;) {
    runs.push({ cpus: next, throughput: await measure(next) })
    if (runs.length === 1 && counts.length > 1) {
      next = counts[0]!
      continue
    }
    const curve = estimate(runs, counts)
    const least = KNEE * curve.at(-1)!.throughput
    const worst = curve.reduce((most, each) => (errorPercent(each) > errorPercent(most) ? each : most))
    const isExact = errorPercent(worst) <= tolerancePercent
    next = runs.length >= maxRuns ? undefined : isExact ? countNearKnee(curve, least, gpus) : worst.cpus
    if (next === undefined) {
      const kneeCpus = curve.find(({ throughput }) => throughput >= least)!.cpus
      return { runs, curve, kneeCpus, worstErrorPercent: errorPercent(worst) }
    }
  }
}

/** Maximum relative error of an estimate, percent: half the distance of its bounds over the lower one. */
function errorPercent({ low, high }: CurveEstimate): number {
  return ((high - low) / 2 / low) * 100
}

/**
 * Returns the count halfway between the first point that may be above `least` and the first that surely is; undefined
 * if no count in between is left to measure.
 */
function countNearKnee(curve: readonly CurveEstimate[], least: number, gpus: number): number | undefined {
  const from = curve.findIndex(({ high }) => high >= least)
  const to = curve.findIndex(({ low }) => low >= least)
  const middle = curve[Math.floor((from + to) / 2)]!
  return curve[to]!.cpus - curve[from]!.cpus <= gpus || middle.measured ? undefined : middle.cpus
}
