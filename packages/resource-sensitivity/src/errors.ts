import { PctodlError } from '@pctodl/platform'

/** Thrown for a job that no schedule on this cluster could ever run. */
export class ImpossibleJobError extends PctodlError {
  readonly jobId: number

  constructor(jobId: number, why: string, remedy: string) {
    super('IMPOSSIBLE_JOB', `job ${jobId} can never run: ${why}; ${remedy}`)
    this.jobId = jobId
  }
}

const LONGEST_SHOWN = 80

/** Thrown for a file (trace, cluster, profile) in the wrong format. `row` counts from 1 if the format has rows. */
export class InputFileError extends PctodlError {
  readonly file: string
  readonly row: number | null
  readonly field: string

  constructor(
    file: string,
    row: number | null,
    field: string,
    found: unknown,
    expected: string,
    options?: ErrorOptions,
  ) {
    const place = row === null ? file : `${file}, row ${row}`
    const whole = typeof found === 'string' ? `'${found}'` : (JSON.stringify(found) ?? String(found))
    const shown = whole.length > LONGEST_SHOWN ? `${whole.slice(0, LONGEST_SHOWN)}...` : whole
    super('INPUT_FILE', `${place}: ${field} is ${shown}, expected ${expected}`, options)
    this.file = file
    this.row = row
    this.field = field
  }
}

/** Thrown for a CPU or memory limit that cannot be enforced here. Nothing was run. */
export class LimitUnavailableError extends PctodlError {
  readonly limit: string

  constructor(limit: string, why: string, remedy: string, options?: ErrorOptions) {
    super('LIMIT_UNAVAILABLE', `cannot limit ${limit}: ${why}; ${remedy}`, options)
    this.limit = limit
  }
}

/** Thrown if a profiled run failed or ended without a usable report. */
export class ProfiledRunError extends PctodlError {
  constructor(what: string, why: string, options?: ErrorOptions) {
    super('PROFILED_RUN', `${what}: ${why}`, options)
  }
}
