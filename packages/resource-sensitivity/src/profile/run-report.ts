import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { writeFileAtomically } from '@pctodl/command-line'
import { mean, meanInterval } from '@pctodl/numerics'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import { InputFileError, ProfiledRunError } from '../errors.js'
import { JsonLines } from '../execute/json-lines.js'

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

/** Reads `PERF_<job>.txt`: three lines, the mean seconds per iteration, the last iteration, the epoch. */
export function parseReportFile(text: string, file: string): RunReport {
  const lines = text.trim().split(/\r?\n/)
  const [seconds, last, epoch] = lines.map(Number)
  if (lines.length < 3 || !Number.isFinite(last) || !Number.isFinite(epoch)) {
    throw new ProfiledRunError(file, `holds ${JSON.stringify(text.slice(0, 60))}, expected three lines of numbers`)
  }
  return { iterationS: positive({ mean: seconds!, low: null, high: null }, file, lines[0]!), iterations: null }
}

/**
 * Finds the report in a job's output: one line `{"iteration": 12, "seconds": 0.25}` per iteration, of one process or of
 * each; null without any.
 */
export function parseReportLines(output: string, processes = 1): RunReport | null {
  const lines = output.split('\n').flatMap((line) => {
    const entry = (line.startsWith('{"iteration"') ? tryJson(line) : null) as Record<string, unknown> | null
    return typeof entry?.['seconds'] === 'number' ? [{ iteration: entry['iteration'], seconds: entry['seconds'] }] : []
  })
  if (lines.length === 0) return null
  const iterations = new Set(lines.map(({ iteration }) => iteration))
  const warmUp = new Set([...iterations].slice(0, WARM_UP_ITERATIONS))
  // Iterations may be numbered anew in each epoch, and then count.
  const isWarmUp = (iteration: unknown, i: number) => i < WARM_UP_ITERATIONS * processes && warmUp.has(iteration)
  const counted = lines.flatMap(({ iteration, seconds }, i) => (isWarmUp(iteration, i) ? [] : [seconds]))
  if (counted.length === 0) {
    const why = `reports ${iterations.size} iterations, but the first ${WARM_UP_ITERATIONS} do not count; raise --max-iterations`
    throw new ProfiledRunError('the report', why)
  }
  const iterationS = seriesMean(counted)
  return { iterationS: positive(iterationS, 'the report', String(iterationS.mean)), iterations: counted.length }
}

function positive(iterationS: SeriesMean, what: string, shown: string): SeriesMean {
  if (iterationS.mean > 0 && Number.isFinite(iterationS.mean)) return iterationS
  throw new ProfiledRunError(what, `reports ${shown} seconds per iteration, expected a positive number`)
}

/** Null for text that is no JSON. */
function tryJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

const entry = z.object({
  cpus: z.number(),
  report: z.object({
    iterationS: z.object({ mean: z.number().positive(), low: z.number().nullable(), high: z.number().nullable() }),
    iterations: z.number().nullable(),
  }),
})

/** Completed runs, one JSON line each, so that an interrupted profile resumes where it stopped. */
export class RunLog {
  readonly #file: JsonLines
  readonly #done = new Map<number, RunReport>()

  /**
   * @param identity everything that affects a run's result
   * @throws InputFileError if the log belongs to another job or is damaged; PctodlError `CANNOT_WRITE`
   */
  constructor(file: string, identity: unknown) {
    const fingerprint = createHash('sha256').update(JSON.stringify(identity)).digest('hex')
    const identityLine = JSON.stringify({ fingerprint })
    if (!existsSync(file)) writeFileAtomically(file, `${identityLine}\n`)
    this.#file = new JsonLines(file, 0o666, (cause) => {
      const why = `${cause.message}; choose a place that can be written`
      return new PctodlError('CANNOT_WRITE', `cannot write ${file}: ${why}`, { cause })
    })
    const [first, ...lines] = this.#file.lines
    if (first === undefined) this.#file.append({ fingerprint })
    else if (first !== identityLine) {
      throw new InputFileError(file, 1, 'fingerprint', first, 'that of this command; remove the file to start over')
    }
    lines.forEach((line, i) => {
      const { data } = entry.safeParse(tryJson(line))
      if (data === undefined) {
        throw new InputFileError(file, i + 2, 'the line', line, 'a run; remove the file to start over')
      }
      this.#done.set(data.cpus, data.report)
    })
  }

  get(cpus: number): RunReport | undefined {
    return this.#done.get(cpus)
  }

  /** @throws PctodlError `CANNOT_WRITE`, also if something else has replaced the log */
  add(cpus: number, report: RunReport): void {
    this.#file.append({ cpus, report })
    this.#done.set(cpus, report)
  }
}
