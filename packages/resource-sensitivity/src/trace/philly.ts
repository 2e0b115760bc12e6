import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'
import { InputFileError } from '../errors.js'
import { parseJsonAs } from '../json-input.js'
import type { JobProfile, ModelClass } from '../profile/job-profile.js'
import { generateTrace } from './generate-trace.js'
import type { Job } from './job.js'

const phillyLog = z.array(
  z.object({
    jobid: z.string(),
    submitted_time: z.string(),
    vc: z.string().optional(),
    user: z.string().optional(),
    attempts: z.array(
      z.object({
        start_time: z.string().nullish(),
        end_time: z.string().nullish(),
        detail: z.array(z.object({ gpus: z.array(z.unknown()) })),
      }),
    ),
  }),
)

export interface PhillyJob {
  readonly name: string
  readonly submittedS: number
  readonly durationS: number
  readonly gpus: number
}

export interface PhillyFilter {
  /** Keep the GPU counts of the log; otherwise every job has one GPU. Default true. */
  readonly multiGpu?: boolean
  /** Only these GPU counts. Default 1, 2, 4, 8, 16. */
  readonly gpuCounts?: readonly number[]
  /** Exclusive limits on the duration, all attempts together. Default 60 * 10^1.5 and 60 * 10^4 s, as published. */
  readonly shortestS?: number
  readonly longestS?: number
}

const PHILLY_TIME = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)$/

/**
 * Read the job log of the public Philly traces (`cluster_job_log`). A job's duration is the sum of its attempts that ran and
 * ended; jobs without one, and those that the filter leaves out, are dropped. Times are seconds after the first submission
 * of the log.
 *
 * @throws InputFileError naming file, job and field
 */
export function parsePhillyLog(text: string, filter: PhillyFilter = {}, file = 'Philly log'): PhillyJob[] {
  const { multiGpu = true, gpuCounts = [1, 2, 4, 8, 16], shortestS = 60 * 10 ** 1.5, longestS = 60 * 10 ** 4 } = filter
  const log = parseJsonAs(phillyLog, text, file)
  const submitted = log.map((job, i) => seconds(file, i, 'submitted_time', job.submitted_time))
  const startS = submitted.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY)
  const jobs = log.flatMap((job, i): PhillyJob[] => {
    let durationS = 0
    let gpus = 0
    for (const attempt of job.attempts) {
      if (!isTime(attempt.start_time) || !isTime(attempt.end_time)) continue
      const lastedS =
        seconds(file, i, 'end_time', attempt.end_time) - seconds(file, i, 'start_time', attempt.start_time)
      const used = attempt.detail.reduce((sum, server) => sum + server.gpus.length, 0)
      if (lastedS <= 0 || used === 0) continue
      durationS += lastedS
      gpus = used
    }
    if (durationS <= shortestS || durationS >= longestS) return []
    if (multiGpu && !gpuCounts.includes(gpus)) return []
    return [{ name: job.jobid, submittedS: submitted[i]! - startS, durationS, gpus: multiGpu ? gpus : 1 }]
  })
  return jobs.sort((a, b) => a.submittedS - b.submittedS)
}

/** The log writes None where it does not know. */
function isTime(text: string | null | undefined): text is string {
  return text !== null && text !== undefined && text !== '' && text !== 'None'
}

function seconds(file: string, job: number, field: string, text: string): number {
  const match = PHILLY_TIME.exec(text)
  const time = match === null ? Number.NaN : Date.parse(`${text.replace(' ', 'T')}Z`)
  if (Number.isNaN(time)) throw new InputFileError(file, job + 1, field, text, 'YYYY-MM-DD hh:mm:ss')
  return time / 1000
}

export interface PhillyTraceOptions {
  readonly profiles: readonly JobProfile[]
  readonly split?: Readonly<Record<ModelClass, number>>
  /** Draw arrivals anew at this load, instead of those of the log. */
  readonly jobsPerHour?: number
  readonly seed: number
}

/**
 * Give the jobs of the log models: the log does not say what ran. Durations, GPU counts and (without `jobsPerHour`) arrivals
 * are those of the log.
 */
export function traceFromPhilly(log: readonly PhillyJob[], options: PhillyTraceOptions): Job[] {
  if (log.length === 0) throw new InvalidInputError('log', 'no job', 'at least one job that the filter keeps')
  const { profiles, split, seed, jobsPerHour } = options
  const drawn = generateTrace({
    jobs: log.length,
    jobsPerHour: jobsPerHour ?? Number.POSITIVE_INFINITY,
    profiles,
    seed,
    ...(split === undefined ? {} : { split }),
  })
  const iterationS = new Map(profiles.map((profile) => [profile.model, profile.iterationS]))
  return drawn.map((job, i) => {
    const { submittedS, durationS, gpus } = log[i]!
    const iterations = Math.max(1, Math.floor(durationS / iterationS.get(job.model)!))
    return { ...job, arrivalS: jobsPerHour === undefined ? submittedS : job.arrivalS, iterations, gpus }
  })
}
