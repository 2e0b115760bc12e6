import { InvalidInputError } from '@pctodl/platform'
import { type CurveEstimate, type CurvePoint, ThroughputCurve } from './throughput-curve.js'

export interface CpuSearchOptions {
  /** Most CPU cores to give the job. */
  readonly maxCpus: number
  /** GPUs of the job; core counts are multiples of it, since every GPU's loader gets as many. Default 1. */
  readonly gpus?: number
  /** Largest error allowed of an estimated point, percent. Default 5. */
  readonly tolerancePercent?: number
  /** The knee is the least core count within so many percent of the best throughput. Default 10. */
  readonly kneePercent?: number
  /** The knee is known well enough when its bracket is no wider, in cores. Default `gpus`. */
  readonly minGap?: number
  /** Most runs. Default a third of the core counts, but at least 3. */
  readonly maxRuns?: number
}

export interface CpuSearchResult {
  /** Core counts in the order in which they were run, as measured. */
  readonly runs: readonly CurvePoint[]
  /** Every core count, measured or estimated. */
  readonly curve: readonly CurveEstimate[]
  /** Least core count within `kneePercent` of the best throughput. */
  readonly kneeCpus: number
  /** Largest error that an estimated point may have if the curve is concave, percent. */
  readonly worstErrorPercent: number
}

/**
 * Find throughput over CPU cores from few runs: the most cores, the fewest, then always the point of which the others say
 * least, until each is known to the tolerance; runs that are left narrow the knee.
 *
 * @param measure runs the job with so many cores; anything it throws ends the search
 * @throws InvalidInputError
 */
export async function searchCpus(
  measure: (cpus: number) => Promise<number>,
  options: CpuSearchOptions,
): Promise<CpuSearchResult> {
  const { gpus = 1, tolerancePercent = 5, kneePercent = 10 } = options
  const { minGap = gpus } = options
  if (!(Number.isInteger(gpus) && gpus >= 1)) throw new InvalidInputError('gpus', gpus, 'an integer of at least 1')
  if (!(Number.isInteger(options.maxCpus) && options.maxCpus >= gpus)) {
    throw new InvalidInputError('maxCpus', options.maxCpus, `an integer of at least ${gpus}, one core a GPU`)
  }
  if (!(tolerancePercent > 0)) throw new InvalidInputError('tolerancePercent', tolerancePercent, 'a positive number')
  if (!(kneePercent > 0 && kneePercent < 100)) {
    throw new InvalidInputError('kneePercent', kneePercent, 'a number between 0 and 100')
  }
  if (!(minGap >= 1)) throw new InvalidInputError('minGap', minGap, 'a number of at least 1')
  const counts = Array.from({ length: Math.floor(options.maxCpus / gpus) }, (_, i) => (i + 1) * gpus)
  const maxRuns = options.maxRuns ?? Math.max(3, Math.floor(counts.length / 3))
  if (!(Number.isInteger(maxRuns) && maxRuns >= 2))
    throw new InvalidInputError('maxRuns', maxRuns, 'an integer of at least 2')

  const runs: CurvePoint[] = []
  const run = async (cpus: number) => {
    runs.push({ cpus, throughput: await measure(cpus) })
  }
  await run(counts[counts.length - 1]!)
  if (counts.length > 1) await run(counts[0]!)
  for (;;) {
    const curve = new ThroughputCurve(runs)
    const estimates = counts.map((cpus) => curve.at(cpus))
    const least = (1 - kneePercent / 100) * curve.best
    const worst = estimates.reduce((most, estimate) => (errorPercent(estimate) > errorPercent(most) ? estimate : most))
    const next = runs.length >= maxRuns ? undefined : nextCount(estimates, worst, tolerancePercent, least, minGap)
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

/** Half the distance of the bounds, of the lower one: what an estimate in the middle can be wrong by. */
export function errorPercent({ low, high }: { low: number; high: number }): number {
  return ((high - low) / 2 / low) * 100
}

function nextCount(
  estimates: readonly CurveEstimate[],
  worst: CurveEstimate,
  tolerancePercent: number,
  least: number,
  minGap: number,
): number | undefined {
  if (errorPercent(worst) > tolerancePercent) return worst.cpus
  // The knee lies between the first point that may be fast enough and the first that surely is.
  const from = estimates.findIndex(({ high }) => high >= least)
  const to = estimates.findIndex(({ low }) => low >= least)
  if (estimates[to]!.cpus - estimates[from]!.cpus <= minGap) return undefined
  const middle = estimates[Math.floor((from + to) / 2)]!
  return middle.measured ? undefined : middle.cpus
}
