import { version } from '../../package.json'
import type { ScheduleOptions } from './run-schedule.js'
import type { Scenario, ScenarioOptions } from './scenario.js'

/** What marks the JSON of `simulate` and `compare`. */
const FORMAT = 'pctodl-sensitivity-schedule'
const FORMAT_VERSION = 1

/** What a result needs beside its figures to be had again: by which program, from which jobs and seed, on which cluster, how. */
export function scheduleDocument(
  { cluster, skipped, jobs }: Scenario,
  options: ScenarioOptions & ScheduleOptions,
  results: object,
): object {
  const { trace, philly, generate, load, seed } = options
  return {
    format: FORMAT,
    version: FORMAT_VERSION,
    packageVersion: version,
    seed,
    cluster,
    jobs: {
      source: trace ?? philly ?? `generated: ${generate}`,
      jobsPerHour: load ?? null,
      count: jobs.length,
      skipped: skipped.map(({ jobId, message }) => ({ jobId, message })),
    },
    options: {
      published: options.published === true || options.compat === true,
      roundS: options.round,
      restartCostS: options.restartCost,
      spreadPenalty: options.spreadPenalty,
      weight: options.weight,
    },
    ...results,
  }
}
