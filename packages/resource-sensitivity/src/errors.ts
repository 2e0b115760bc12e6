import { PctodlError } from '@pctodl/platform'

/** A job that no schedule on this cluster could ever run. */
export class ImpossibleJobError extends PctodlError {
  readonly jobId: number

  constructor(jobId: number, why: string, remedy: string) {
    super('IMPOSSIBLE_JOB', `job ${jobId} can never run: ${why}; ${remedy}`)
    this.jobId = jobId
  }
}
