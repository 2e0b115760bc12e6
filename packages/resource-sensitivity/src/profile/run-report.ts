import { mean, meanInterval } from '@pctodl/numerics'
import { ProfiledRunError } from '../errors.js'

/** A mean and its 95 % confidence interval; bounds are `null` for a single value. */
export interface SeriesMean {
  readonly mean: number
  readonly low: number | null
  readonly high: number | null
}

export interface RunReport {
  /** Seconds per iteration, without warm-up. */
  readonly iterationS: SeriesMean
  /** Number of iterations in the mean, if the job reported each of them. */
  readonly iterations: number | null
}

/** Number of batches in a series. Neighbouring iterations are correlated; means of batches hardly are. */
const BATCHES = 10

/** Number of iterations that do not count, since caches fill and libraries load. Jobs with a report file exclude them. */
const WARM_UP_ITERATIONS = 11

/** Mean of a series of at least one value, with a 95 % interval by batch means. */
export function seriesMean(values: readonly number[]): SeriesMean {
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

/**
 * Read `PERF_<job>.txt`: three lines, the mean seconds per iteration, the last iteration, the epoch.
 *
 * @throws ProfiledRunError
 */
export function parseReportFile(text: string, file: string): RunReport {
  const lines = text.trim().split(/\r?\n/)
  const [seconds, last, epoch] = lines.map(Number)
  if (lines.length < 3 || !Number.isFinite(last) || !Number.isFinite(epoch)) {
    throw new ProfiledRunError(file, `holds ${JSON.stringify(text.slice(0, 60))}, expected three lines of numbers`)
  }
  return { iterationS: positive({ mean: seconds!, low: null, high: null }, file, lines[0]!), iterations: null }
}

/**
 * Find the report in a job's output: one line `{"iteration": 12, "seconds": 0.25}` per iteration. Other lines are
 * ignored.
 *
 * @returns null if the job reports no iterations this way
 * @throws ProfiledRunError if it reports too few
 */
export function parseReportLines(output: string): RunReport | null {
  const seconds = output.split('\n').flatMap((line) => {
    const entry = line.startsWith('{"iteration"') ? (tryJson(line) as { seconds?: unknown } | null) : null
    return typeof entry?.seconds === 'number' ? [entry.seconds] : []
  })
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
