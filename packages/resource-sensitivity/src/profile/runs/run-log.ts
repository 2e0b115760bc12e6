import { createHash } from 'node:crypto'
import { appendFileSync, closeSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { openToWrite, writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import { InputFileError } from '../../errors.js'
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
  readonly #file: string
  readonly #done = new Map<number, RunReport>()

  /**
   * @param identity everything that affects a run's result
   * @throws InputFileError if the log belongs to another job, or is damaged before its last line
   */
  constructor(file: string, identity: unknown) {
    this.#file = file
    const fingerprint = createHash('sha256').update(JSON.stringify(identity)).digest('hex')
    if (!existsSync(file)) {
      mkdirSync(path.dirname(file), { recursive: true })
      writeFileAtomically(file, `${JSON.stringify({ fingerprint })}\n`)
      return
    }
    const lines = readFileSync(file, 'utf8').split('\n')
    const first = header.safeParse(tryJson(lines[0]!))
    if (!first.success || first.data.fingerprint !== fingerprint) {
      throw new InputFileError(file, 1, 'fingerprint', lines[0], 'that of this command; remove the file to start over')
    }
    // A process killed while writing leaves half a line, always the last.
    const whole = lines.slice(1, -1)
    whole.forEach((line, i) => {
      const parsed = entry.safeParse(tryJson(line))
      if (!parsed.success)
        throw new InputFileError(file, i + 2, 'the line', line, 'a run; remove the file to start over')
      this.#done.set(parsed.data.cpus, parsed.data.report)
    })
    if (lines.at(-1) !== '')
      writeFileAtomically(
        file,
        lines
          .slice(0, -1)
          .map((line) => `${line}\n`)
          .join(''),
      )
  }

  get(cpus: number): RunReport | undefined {
    return this.#done.get(cpus)
  }

  /** @throws PctodlError `CANNOT_WRITE`, also if something else has replaced the log */
  add(cpus: number, report: RunReport): void {
    try {
      const fd = openToWrite(this.#file, { existing: 'append' })
      try {
        appendFileSync(fd, `${JSON.stringify({ cpus, report })}\n`)
      } finally {
        closeSync(fd)
      }
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new PctodlError(
        'CANNOT_WRITE',
        `cannot write ${this.#file}: ${reason}; choose a place that can be written`,
        {
          cause,
        },
      )
    }
    this.#done.set(cpus, report)
  }
}
