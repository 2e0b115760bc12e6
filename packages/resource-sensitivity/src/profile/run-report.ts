import { mean, meanInterval } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import { ProfiledRunError } from '../errors.js'

/** A mean and its 95 % confidence interval; bounds are `null` for a single value. */
export interface SeriesMean {
  readonly mean: number
  readonly low: number | null
  readonly high: number | null
}

/**
 * Number of batches in a series. Neighbouring iterations are correlated, since a loader fills its queue in bursts;
 * means of batches hardly are.
 */
const BATCHES = 10

/**
 * Mean of a series with a 95 % interval by batch means.
 *
 * @throws InvalidInputError for an empty series
 */
export function seriesMean(values: readonly number[]): SeriesMean {
  if (values.length === 0) throw new InvalidInputError('values', 'none', 'at least one value')
  const centre = mean(values)
  const count = Math.min(BATCHES, values.length)
  const size = Math.floor(values.length / count)
  const batches = Array.from({ length: count }, (_, i) =>
    mean(values.slice(i * size, i === count - 1 ? values.length : (i + 1) * size)),
  )
  const { halfWidth95 } = meanInterval(batches)
  if (halfWidth95 === null) return { mean: centre, low: null, high: null }
  return { mean: centre, low: Math.max(0, centre - halfWidth95), high: centre + halfWidth95 }
}

export interface RunReport {
  /** Seconds per iteration, without warm-up. */
  readonly iterationS: SeriesMean
  /** Number of iterations in the mean, if the job reported each of them. */
  readonly iterations: number | null
}

/**
 * Number of warm-up iterations, which do not count, since caches fill and libraries load. Jobs that write a report file
 * exclude them themselves.
 */
export const WARM_UP_ITERATIONS = 11

/**
 * Read `PERF_<job>.txt`: three lines, the mean seconds per iteration, the last iteration, the epoch.
 *
 * @throws ProfiledRunError
 */
export function parseReportFile(text: string, file: string): RunReport {
  const lines = text.trim().split(/\r?\n/)
  const [mean, last, epoch] = lines.map(Number)
  if (lines.length < 3 || !Number.isFinite(last) || !Number.isFinite(epoch)) {
    throw new ProfiledRunError(file, `holds ${JSON.stringify(text.slice(0, 60))}, expected three lines of numbers`)
  }
  return { iterationS: positive({ mean: mean!, low: null, high: null }, file, lines[0]!), iterations: null }
}

/**
 * Find the report in a job's output: one line `{"iteration": 12, "seconds": 0.25}` per iteration. Other lines are
 * ignored.
 *
 * @returns null if the job reports no iterations this way
 * @throws ProfiledRunError if it reports too few
 */
export function parseReportLines(output: string): RunReport | null {
  const seconds: number[] = []
  for (const line of output.split('\n')) {
    if (!line.startsWith('{"iteration"')) continue
    const entry = tryJson(line)
    if (typeof entry === 'object' && entry !== null && 'seconds' in entry && typeof entry.seconds === 'number') {
      seconds.push(entry.seconds)
    }
  }
  if (seconds.length === 0) return null
  const counted = seconds.slice(WARM_UP_ITERATIONS)
  if (counted.length === 0) {
    throw new ProfiledRunError(
      'the report',
      `reports ${seconds.length} iterations, but the first ${WARM_UP_ITERATIONS} do not count; raise --max-iterations`,
    )
  }
  const iterationS = seriesMean(counted)
  return { iterationS: positive(iterationS, 'the report', String(iterationS.mean)), iterations: counted.length }
}

function positive(iterationS: SeriesMean, what: string, shown: string): SeriesMean {
  if (iterationS.mean > 0 && Number.isFinite(iterationS.mean)) return iterationS
  throw new ProfiledRunError(what, `reports ${shown} seconds per iteration, expected a positive number`)
}

/** Null for text that is no JSON. */
export function tryJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}
