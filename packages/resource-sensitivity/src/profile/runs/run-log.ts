import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import { InputFileError } from '../../errors.js'
import { JsonLines } from '../../json-lines.js'
import { type RunReport, tryJson } from '../run-report.js'

const header = z.object({ fingerprint: z.string() })
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
    mkdirSync(path.dirname(file), { recursive: true })
    this.#file = new JsonLines(file, 0o666, (cause) => {
      const why = `${cause.message}; choose a place that can be written`
      return new PctodlError('CANNOT_WRITE', `cannot write ${file}: ${why}`, { cause })
    })
    const [first, ...lines] = this.#file.lines
    if (first === undefined) this.#file.append({ fingerprint })
    else if (header.safeParse(tryJson(first)).data?.fingerprint !== fingerprint) {
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
