import { ProfiledRunError } from '../errors.js'
import { type SeriesMean, seriesMean } from './batch-means.js'

/** What a profiled run said of itself. */
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
