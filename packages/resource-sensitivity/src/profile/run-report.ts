import { mean, meanInterval } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import { ProfiledRunError } from '../errors.js'

/** A mean and where it lies with 95 % confidence; `null` bounds where one value cannot tell. */
export interface SeriesMean {
  readonly mean: number
  readonly low: number | null
  readonly high: number | null
}

/** Batches into which a series is cut: neighbouring iterations are alike (a loader fills its queue in bursts), means of many are not. */
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
  /** Seconds per iteration, the first ones left out. */
  readonly iterationS: SeriesMean
  /** Iterations that the mean is over, where the job told each of them. */
  readonly iterations: number | null
}

/** Iterations at the start that do not count: caches fill, libraries load. Jobs leave them out of their file themselves. */
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
  if (!(mean! > 0 && Number.isFinite(mean))) {
    throw new ProfiledRunError(file, `tells ${lines[0]} seconds per iteration, expected a positive number`)
  }
  return { iterationS: { mean: mean!, low: null, high: null }, iterations: null }
}

/**
 * Find the report among the lines that a job printed: one `{"iteration": 12, "seconds": 0.25}` for every iteration. Other
 * lines are the job's own.
 *
 * @returns null where the job reports no iterations this way
 * @throws ProfiledRunError where it does, but too few
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
      `tells ${seconds.length} iterations, of which the first ${WARM_UP_ITERATIONS} do not count; raise --max-iterations`,
    )
  }
  const iterationS = seriesMean(counted)
  if (!(iterationS.mean > 0 && Number.isFinite(iterationS.mean))) {
    throw new ProfiledRunError(
      'the report',
      `tells ${iterationS.mean} seconds per iteration, expected a positive number`,
    )
  }
  return { iterationS, iterations: counted.length }
}

function tryJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}
