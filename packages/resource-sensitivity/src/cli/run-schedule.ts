import { numberBetween, oneOf, positiveNumber, UsageError } from '@pctodl/command-line'
import { quantileOfSorted } from '@pctodl/numerics'
import { type Command, Option } from 'commander'
import type { MechanismName, PolicyName } from '../engine/scheduling-options.js'
import type { UsageBin } from '../engine/usage-record.js'
import type { AllocationSolver, AllocationWeight } from '../mechanisms/allocation-solver.js'
import { loadAllocationSolver } from '../mechanisms/allocation-solver.js'
import { simulatePublished } from '../published/simulate-published.js'
import { type ScheduleSummary, summarize } from '../report/summarize.js'
import { simulate } from '../simulate/simulate.js'
import type { SimulationOptions } from '../simulate/simulation-options.js'
import type { Job } from '../trace/job.js'
import type { Scenario } from './scenario.js'

export interface ScheduleOptions {
  readonly round: number
  readonly restartCost: number
  readonly spreadPenalty: number
  readonly weight: AllocationWeight
  readonly published?: boolean
  /** What `published` was called. */
  readonly compat?: boolean
  readonly static?: boolean
}

export function addScheduleOptions(command: Command): Command {
  return command
    .option('--round <s>', 'while jobs wait, decide anew so often', positiveNumber('seconds'), 300)
    .option('--restart-cost <s>', 'time without progress after a preemption or a move', numberBetween(0, 1e9), 0)
    .option('--spread-penalty <x>', 'a job on several servers is so many times slower', numberBetween(1, 1e6), 1)
    .option(
      '--weight <what>',
      'tune and optimal count the throughput of a job or of its gpus',
      oneOf('job', 'gpu'),
      'job',
    )
    .option('--published', 'every result of the published simulator, wrong ones included')
    .addOption(new Option('--compat', 'the former name of --published').hideHelp())
    .option('--static', 'with --published: all jobs are there at the start, the first round begins at 1 s')
}

/** What both simulators tell of a job. */
export interface JobOutcome {
  readonly job: Job
  readonly finishS: number
  readonly completionS: number
  readonly attainedS: number
}

export interface ScheduleRun {
  readonly policy: PolicyName
  readonly mechanism: MechanismName
  readonly jobs: readonly JobOutcome[]
  /** Figures; what only the default simulator knows is absent with --published. */
  readonly summary: Partial<ScheduleSummary> &
    Pick<
      ScheduleSummary,
      'policy' | 'mechanism' | 'jobs' | 'meanCompletionS' | 'medianCompletionS' | 'p99CompletionS' | 'makespanS'
    >
  readonly timeline: readonly UsageBin[] | null
}

/** One solver for all runs of a call; loaded only where the optimum is asked for. */
export async function solverFor(mechanisms: readonly MechanismName[]): Promise<AllocationSolver | null> {
  return mechanisms.includes('optimal') ? loadAllocationSolver() : null
}

export function runSchedule(
  scenario: Scenario,
  policy: PolicyName,
  mechanism: MechanismName,
  options: ScheduleOptions,
  solver: AllocationSolver | null,
  onActions?: SimulationOptions['onActions'],
): ScheduleRun {
  if (options.published === true || options.compat === true) return runPublished(scenario, policy, mechanism, options)
  if (options.static === true)
    throw new UsageError('--static belongs to --published; here jobs arrive when the trace says')
  const result = simulate({
    ...scenario,
    policy,
    mechanism,
    roundS: options.round,
    restartCostS: options.restartCost,
    spreadPenalty: options.spreadPenalty,
    weight: options.weight,
    ...(solver === null ? {} : { solver }),
    ...(onActions === undefined ? {} : { onActions }),
  })
  return {
    policy,
    mechanism,
    jobs: result.jobs.map(({ job, finishS, completionS, attainedGpuS }) => ({
      job,
      finishS,
      completionS,
      attainedS: attainedGpuS / job.gpus,
    })),
    summary: summarize(result),
    timeline: result.timeline,
  }
}

function runPublished(
  scenario: Scenario,
  policy: PolicyName,
  mechanism: MechanismName,
  options: ScheduleOptions,
): ScheduleRun {
  if (mechanism === 'optimal') {
    throw new UsageError('--published has no optimal: its results move with the solver; leave one of them out')
  }
  for (const [name, value, neutral] of [
    ['--restart-cost', options.restartCost, 0],
    ['--spread-penalty', options.spreadPenalty, 1],
  ] as const) {
    if (value !== neutral)
      throw new UsageError(`${name} is unknown to the published simulator; leave it or --published out`)
  }
  // Its first round is at 1 s; traces with later arrivals it would leave without running any of them.
  const jobs =
    options.static === true
      ? scenario.jobs.map((job) => ({ ...job, arrivalS: Math.min(job.arrivalS, 1) }))
      : scenario.jobs
  const { finished, meanAllocatedShare } = simulatePublished({
    ...scenario,
    jobs,
    policy,
    mechanism,
    roundS: options.round,
    static: options.static ?? false,
  })
  const completion = Float64Array.from(finished, ({ completionS }) => completionS).sort()
  const first = jobs.reduce((least, { arrivalS }) => Math.min(least, arrivalS), Number.POSITIVE_INFINITY)
  const last = finished.reduce((most, { finishS }) => Math.max(most, finishS), 0)
  return {
    policy,
    mechanism,
    jobs: finished,
    summary: {
      policy,
      mechanism,
      jobs: finished.length,
      meanCompletionS: completion.reduce((sum, value) => sum + value, 0) / finished.length,
      medianCompletionS: quantileOfSorted(completion, 0.5),
      p99CompletionS: quantileOfSorted(completion, 0.99),
      maxCompletionS: quantileOfSorted(completion, 1),
      makespanS: last - first,
      gpuPercent: meanAllocatedShare.gpu * 100,
      cpuPercent: meanAllocatedShare.cpu * 100,
      memoryPercent: meanAllocatedShare.memory * 100,
    },
    timeline: null,
  }
}
