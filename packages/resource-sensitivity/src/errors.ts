import { PctodlError } from '@pctodl/platform'

/** A job that no schedule on this cluster could ever run. */
export class ImpossibleJobError extends PctodlError {
  readonly jobId: number

  constructor(jobId: number, why: string, remedy: string) {
    super('IMPOSSIBLE_JOB', `job ${jobId} can never run: ${why}; ${remedy}`)
    this.jobId = jobId
  }
}

/** Characters shown of what was found. */
const LONGEST_SHOWN = 80

/** A file (trace, cluster, profile) is not what its format demands. `row` counts from 1 where the format has rows. */
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

/** A CPU or memory limit was asked for that cannot be enforced here. Nothing was run. */
export class LimitUnavailableError extends PctodlError {
  readonly limit: string

  constructor(limit: string, why: string, remedy: string, options?: ErrorOptions) {
    super('LIMIT_UNAVAILABLE', `cannot limit ${limit}: ${why}; ${remedy}`, options)
    this.limit = limit
  }
}

/** A profiled run failed, or ended without a usable report. */
export class ProfiledRunError extends PctodlError {
  constructor(what: string, why: string, options?: ErrorOptions) {
    super('PROFILED_RUN', `${what}: ${why}`, options)
  }
}
