import { availableParallelism } from 'node:os'

/** Beyond this many processes the start of each costs more than it brings. */
const MOST_JOBS = 8

export function defaultJobs(): number {
  return Math.min(MOST_JOBS, availableParallelism())
}
