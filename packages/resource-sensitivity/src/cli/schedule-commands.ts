import { setImmediate } from 'node:timers/promises'
import {
  exampleText,
  listOf,
  newSubcommand,
  numberBetween,
  oneOf,
  Progress,
  positiveNumber,
  type Terminal,
  UsageError,
  writeFileAtomically,
} from '@pctodl/command-line'
import { quantileOfSorted } from '@pctodl/numerics'
import type { Command } from 'commander'
import { version } from '../../package.json'
import { type MechanismName, mechanismNames, type PolicyName, policyNames } from '../engine/scheduling-options.js'
import type { UsageBin } from '../engine/usage-record.js'
import { type AllocationSolver, type AllocationWeight, loadAllocationSolver } from '../mechanisms/allocation-solver.js'
import { simulatePublished } from '../published.js'
import { formatScheduleTable } from '../report/schedule-table.js'
import { type ScheduleSummary, summarize } from '../report/summarize.js'
import { simulate } from '../simulate/simulate.js'
import type { SimulationOptions } from '../simulate/simulation-options.js'
import type { Job } from '../trace/job.js'
import { drawCharts } from './charts-of-schedules.js'
import { addScenarioOptions, loadScenario, type Scenario, type ScenarioOptions } from './scenario.js'

/** What marks the JSON of `simulate`. */
const FORMAT = 'pctodl-sensitivity-schedule'
const FORMAT_VERSION = 1

/** What the gain of the others is counted from. */
const BASELINE = 'fair'

interface ScheduleOptions extends ScenarioOptions {
  readonly round: number
  readonly restartCost: number
  readonly spreadPenalty: number
  readonly weight: AllocationWeight
  readonly published?: boolean
  readonly static?: boolean
  readonly plot?: string
  readonly json?: boolean
}

interface SimulateOptions extends ScheduleOptions {
  readonly policy?: PolicyName[]
  readonly mechanism?: MechanismName[]
  readonly actions?: string
  readonly jobsCsv?: string
}

/** One schedule as both simulators tell it. */
export interface ScheduleRun {
  readonly policy: PolicyName
  readonly mechanism: MechanismName
  readonly jobs: readonly {
    readonly job: Job
    readonly finishS: number
    readonly completionS: number
    readonly attainedS: number
  }[]
  /** What only the default simulator knows is absent with --published. */
  readonly summary: Partial<ScheduleSummary> &
    Pick<
      ScheduleSummary,
      'policy' | 'mechanism' | 'jobs' | 'meanCompletionS' | 'medianCompletionS' | 'p99CompletionS' | 'makespanS'
    >
  readonly timeline: readonly UsageBin[] | null
}

export function addSimulateCommand(parent: Command, terminal: Terminal): void {
  const command = newSubcommand(
    parent,
    'simulate',
    'Run a trace of jobs on a cluster under a policy and a mechanism, or under several; the gain is over fair, of the same policy.',
    terminal,
  )
    .option(
      '--policy <names>',
      `who comes first: ${policyNames.join(', ')} (default: srtf)`,
      listOf(oneOf(...policyNames)),
    )
    .option(
      '--mechanism <names>',
      `who gets what: ${mechanismNames.join(', ')} (default: tune)`,
      listOf(oneOf(...mechanismNames)),
    )
  addScheduleOptions(command)
    .option('--actions <file>', 'a dry run: write what a cluster would be told to do, a line of JSON for each action')
    .option('--jobs-csv <file>', 'write what became of every job')
    .addHelpText(
      'after',
      exampleText('pctodl sensitivity simulate --generate 1000 --load 6 --policy fifo,srtf,las --mechanism fair,tune'),
    )
    .action(async () => {
      const {
        policy: policies = ['srtf'],
        mechanism: mechanisms = ['tune'],
        ...options
      }: SimulateOptions = command.opts()
      if (policies.length * mechanisms.length > 1) return runSeveral(policies, mechanisms, options, terminal)
      return runOne(policies[0]!, mechanisms[0]!, options, terminal)
    })
}

function addScheduleOptions(command: Command): Command {
  return addScenarioOptions(command)
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
    .option('--static', 'with --published: all jobs are there at the start, the first round begins at 1 s')
    .option('--plot <folder>', 'draw the distribution of completion times and what is in use over time')
    .option('--json', 'print JSON on standard output')
}

async function runOne(
  policy: PolicyName,
  mechanism: MechanismName,
  options: SimulateOptions,
  terminal: Terminal,
): Promise<void> {
  const { actions, jobsCsv } = options
  const solver = await solverFor([mechanism])
  const scenario = loadScenario(options, terminal)
  if (actions !== undefined && options.published === true) {
    throw new UsageError('--published knows rounds and no actions; leave it or --actions out')
  }
  const lines: string[] = []
  const note: SimulationOptions['onActions'] = (timeS, list) => {
    for (const action of list) lines.push(`${JSON.stringify({ timeS, ...action })}\n`)
  }
  const run = runSchedule(scenario, policy, mechanism, options, solver, actions === undefined ? undefined : note)
  const files: string[] = []
  const write = (file: string, text: string) => {
    writeFileAtomically(file, text)
    files.push(file)
  }
  if (actions !== undefined) write(actions, lines.join(''))
  if (jobsCsv !== undefined) write(jobsCsv, formatJobsCsv(run))
  if (options.plot !== undefined) files.push(...(await drawCharts(options.plot, [run])))
  const table = formatScheduleTable([run.summary])
  print(scenario, options, table, { summary: run.summary, files }, terminal)
}

async function runSeveral(
  policies: readonly PolicyName[],
  mechanisms: readonly MechanismName[],
  options: SimulateOptions,
  terminal: Terminal,
): Promise<void> {
  if (options.actions !== undefined || options.jobsCsv !== undefined) {
    throw new UsageError('--actions and --jobs-csv tell of one schedule; name one policy and one mechanism')
  }
  const scenario = loadScenario(options, terminal)
  const solver = await solverFor(mechanisms)
  const progress = new Progress(terminal.stderr, policies.length * mechanisms.length)
  const runs: ScheduleRun[] = []
  for (const policy of policies) {
    for (const mechanism of mechanisms) {
      terminal.signal.throwIfAborted()
      progress.begin(`${policy} ${mechanism}`)
      const run = runSchedule(scenario, policy, mechanism, options, solver)
      runs.push(run)
      progress.end(`${policy} ${mechanism}`, `mean ${(run.summary.meanCompletionS / 3600).toFixed(2)} h`)
      // Let an interrupt be seen between the runs.
      await setImmediate()
    }
  }
  const files = options.plot === undefined ? [] : await drawCharts(options.plot, runs)
  const summaries = runs.map(({ summary }) => summary)
  print(scenario, options, formatScheduleTable(summaries, BASELINE), { summaries, files }, terminal)
}

/** What a result needs beside its figures to be had again: by which program, from which jobs and seed, on which cluster, how. */
function print(
  { cluster, skipped, jobs }: Scenario,
  options: ScheduleOptions,
  table: string,
  results: { readonly files: readonly string[]; readonly [figures: string]: unknown },
  { stdout }: Terminal,
): void {
  const { trace, philly, generate, load, seed, round, restartCost, spreadPenalty, weight } = options
  const document = {
    ...{ format: FORMAT, version: FORMAT_VERSION, packageVersion: version, seed, cluster },
    jobs: {
      source: trace ?? philly ?? `generated: ${generate}`,
      jobsPerHour: load ?? null,
      count: jobs.length,
      skipped: skipped.map(({ jobId, message }) => ({ jobId, message })),
    },
    options: {
      published: options.published === true,
      ...{ roundS: round, restartCostS: restartCost, spreadPenalty, weight },
    },
    ...results,
  }
  const written = results.files.map((file) => `written: ${file}\n`).join('')
  stdout.write(options.json === true ? `${JSON.stringify(document, null, 2)}\n` : `${table}\n${written}`)
}

/** One solver for all runs of a call; loaded only where the optimum is asked for. */
async function solverFor(mechanisms: readonly MechanismName[]): Promise<AllocationSolver | null> {
  return mechanisms.includes('optimal') ? loadAllocationSolver() : null
}

function runSchedule(
  scenario: Scenario,
  policy: PolicyName,
  mechanism: MechanismName,
  options: ScheduleOptions,
  solver: AllocationSolver | null,
  onActions?: SimulationOptions['onActions'],
): ScheduleRun {
  if (options.published === true) return runPublished(scenario, policy, mechanism, options)
  if (options.static === true)
    throw new UsageError('--static belongs to --published; here jobs arrive when the trace says')
  const { round: roundS, restartCost: restartCostS, spreadPenalty, weight } = options
  const result = simulate({
    ...{ ...scenario, policy, mechanism, roundS, restartCostS, spreadPenalty, weight },
    ...(solver && { solver }),
    ...(onActions && { onActions }),
  })
  const jobs = result.jobs.map(({ job, finishS, completionS, attainedGpuS }) => ({
    ...{ job, finishS, completionS, attainedS: attainedGpuS / job.gpus },
  }))
  return { policy, mechanism, jobs, summary: summarize(result), timeline: result.timeline }
}

function runPublished(
  scenario: Scenario,
  policy: PolicyName,
  mechanism: MechanismName,
  { restartCost, spreadPenalty, round: roundS, static: isStatic = false }: ScheduleOptions,
): ScheduleRun {
  if (mechanism === 'optimal') {
    throw new UsageError('--published has no optimal: its results move with the solver; leave one of them out')
  }
  const unknown = restartCost !== 0 ? '--restart-cost' : spreadPenalty !== 1 ? '--spread-penalty' : null
  if (unknown !== null)
    throw new UsageError(`${unknown} is unknown to the published simulator; leave it or --published out`)
  // Its first round is at 1 s; traces with later arrivals it would leave without running any of them.
  const jobs = isStatic ? scenario.jobs.map((job) => ({ ...job, arrivalS: Math.min(job.arrivalS, 1) })) : scenario.jobs
  const { finished, meanAllocatedShare } = simulatePublished({
    ...{ ...scenario, jobs, policy, mechanism, roundS, static: isStatic },
  })
  const completion = Float64Array.from(finished, ({ completionS }) => completionS).sort()
  const first = jobs.reduce((least, { arrivalS }) => Math.min(least, arrivalS), Number.POSITIVE_INFINITY)
  const last = finished.reduce((most, { finishS }) => Math.max(most, finishS), 0)
  const summary = {
    ...{ policy, mechanism, jobs: finished.length, makespanS: last - first },
    meanCompletionS: completion.reduce((sum, value) => sum + value, 0) / finished.length,
    medianCompletionS: quantileOfSorted(completion, 0.5),
    p99CompletionS: quantileOfSorted(completion, 0.99),
    maxCompletionS: quantileOfSorted(completion, 1),
    gpuPercent: meanAllocatedShare.gpu * 100,
    cpuPercent: meanAllocatedShare.cpu * 100,
    memoryPercent: meanAllocatedShare.memory * 100,
  }
  return { policy, mechanism, jobs: finished, summary, timeline: null }
}

function formatJobsCsv({ jobs }: ScheduleRun): string {
  const rows = jobs.map(({ job, finishS, completionS, attainedS }) =>
    [job.id, job.model, job.gpus, job.arrivalS, job.iterations, finishS, completionS, attainedS].join(),
  )
  return `${['id,model,gpus,arrival_s,iterations,finish_s,completion_s,attained_s', ...rows].join('\n')}\n`
}
