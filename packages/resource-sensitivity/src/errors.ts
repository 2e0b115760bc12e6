import { InvalidInputError, PctodlError } from '@pctodl/platform'

/** Thrown for a job that no schedule on this cluster could ever run. */
export class ImpossibleJobError extends PctodlError {
  constructor(
    readonly jobId: number,
    needed: number,
    gpus: number,
  ) {
    const why = `it needs ${needed} GPUs and the cluster has ${gpus}`
    const remedy = 'remove it from the trace, enlarge the cluster, or skip such jobs with --skip-impossible'
    super('IMPOSSIBLE_JOB', `job ${jobId} can never run: ${why}; ${remedy}`)
  }
}

const LONGEST_SHOWN = 80

/** Thrown for a file (trace, cluster, profile) in the wrong format. `row` counts from 1 if the format has rows. */
export class InputFileError extends PctodlError {
  constructor(
    readonly file: string,
    readonly row: number | null,
    readonly field: string,
    found: unknown,
    expected: string,
    cause?: unknown,
  ) {
    const place = row === null ? file : `${file}, row ${row}`
    const whole = typeof found === 'string' ? `'${found}'` : (JSON.stringify(found) ?? String(found))
    const shown = whole.length > LONGEST_SHOWN ? `${whole.slice(0, LONGEST_SHOWN)}...` : whole
    super('INPUT_FILE', `${place}: ${field} is ${shown}, expected ${expected}`, { cause })
  }
}

/** Thrown for a CPU or memory limit that cannot be enforced here. Nothing was run. */
export class LimitUnavailableError extends PctodlError {
  constructor(
    readonly limit: string,
    why: string,
    remedy: string,
    cause?: unknown,
  ) {
    super('LIMIT_UNAVAILABLE', `cannot limit ${limit}: ${why}; ${remedy}`, { cause })
  }
}

/** Thrown if a profiled run failed or ended without a usable report. */
export class ProfiledRunError extends PctodlError {
  constructor(what: string, why: string, cause?: unknown) {
    super('PROFILED_RUN', `${what}: ${why}`, { cause })
  }
}

/** @throws InvalidInputError unless the value is a finite number above 0 */
export function assertPositive(field: string, value: number): void {
  if (!(value > 0 && Number.isFinite(value))) throw new InvalidInputError(field, value, 'a positive number')
}

/** @throws InvalidInputError unless the value is a finite number of at least `least` */
export function assertAtLeast(field: string, value: number, least = 0, what = 'a number'): void {
  if (value >= least && Number.isFinite(value)) return
  throw new InvalidInputError(field, value, `${what} of at least ${least}`)
}

/** @throws InvalidInputError unless the value is an integer of at least `least` */
export function assertInteger(field: string, value: number, least = 1): void {
  if (Number.isInteger(value) && value >= least) return
  throw new InvalidInputError(field, value, `an integer of at least ${least}`)
}
