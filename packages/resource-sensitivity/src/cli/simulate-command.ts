import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  endingAtOnce,
  exampleText,
  listOf,
  newSubcommand,
  oneOf,
  Progress,
  type Terminal,
  UsageError,
  writeFileAtomically,
} from '@pctodl/command-line'
import { sum } from '@pctodl/numerics'
import type { Command } from 'commander'
import { version } from '../../package.json'
import { totals } from '../cluster.js'
import { type MechanismName, mechanismNames, type PolicyName, policyNames } from '../engine/scheduling-options.js'
import { loadAllocationSolver } from '../mechanisms/allocation-solver.js'
import { type SimulationResult, simulate } from '../simulate.js'
import { summarize } from '../summarize.js'
import {
  addScenarioOptions,
  defaultSplit,
  loadScenario,
  ROUND_S,
  type Scenario,
  type ScenarioOptions,
} from './scenario.js'
import { formatScheduleTable } from './tables.js'

const FORMAT = 'pctodl-sensitivity-schedule'
const FORMAT_VERSION = 1

/** The gain of each mechanism is relative to this one. */
const BASELINE = 'fair'

/** Number of rounds that every trace may have. */
const MIN_MAX_ROUNDS = 1e5
/** Interval of progress messages of one simulation, ms. */
const SILENT_MS = 5000

interface SimulateOptions extends ScenarioOptions, Readonly<Partial<Record<'actions' | 'jobsCsv', string>>> {
  readonly policy?: PolicyName[]
  readonly mechanism?: MechanismName[]
}

export function addSimulateCommand(parent: Command, terminal: Terminal): void {
  const command = newSubcommand(
    parent,
    'simulate',
    'Run a trace of jobs on a cluster under one or several policies and mechanisms; gains are over fair with the same policy.',
    terminal,
  )
    .option('--policy <names>', `${policyNames.join(', ')} (default: srtf)`, listOf(oneOf(...policyNames)))
    .option('--mechanism <names>', `${mechanismNames.join(', ')} (default: tune)`, listOf(oneOf(...mechanismNames)))
  addScenarioOptions(command, 0)
    .option('--actions <file>', 'dry run: write the actions for a cluster, one JSON line each')
    .option('--jobs-csv <file>', 'write the outcome of every job')
    .addHelpText(
      'after',
      exampleText('pctodl sensitivity simulate --generate 1000 --load 6 --policy fifo,srtf,las --mechanism fair,tune'),
    )
    .action(() => simulateAll(command.opts<SimulateOptions>(), terminal))
}

async function simulateAll(options: SimulateOptions, terminal: Terminal): Promise<void> {
  const { policy: policies = ['srtf'], mechanism: mechanisms = ['tune'], actions, jobsCsv } = options
  const pairs = policies.flatMap((policy) => mechanisms.map((mechanism) => ({ policy, mechanism })))
  const isOne = pairs.length === 1
  const files = [actions, jobsCsv].filter((file) => file !== undefined)
  if (!isOne && files.length > 0) {
    throw new UsageError('--actions and --jobs-csv describe one schedule; name one policy and one mechanism')
  }
  const matrices = options.profiles?.map((each) => each.replace(/=[^=]*$/, '')) ?? []
  const inputs = [options.trace, options.cluster, options.models, ...matrices]
  const named = [...inputs, ...files].flatMap((file) => (file === undefined ? [] : path.resolve(file)))
  if (files.length > 0 && new Set(named).size < named.length) {
    throw new UsageError('--actions and --jobs-csv: name files of their own')
  }
  const scenario = loadScenario(options, terminal)
  assertRound(options.round, scenario)
  const solver = mechanisms.includes('optimal') ? await loadAllocationSolver() : undefined
  const rules = { roundS: options.round, restartCostS: options.restartCost, spreadPenalty: options.spreadPenalty }
  const progress = isOne ? null : new Progress(terminal.stderr, pairs.length)
  const lines: string[] = []
  const results: SimulationResult[] = []
  for (const { policy, mechanism } of pairs) {
    terminal.signal.throwIfAborted()
    progress?.begin(`${policy} ${mechanism}`)
    let shownMs = performance.now()
    const result = await endingAtOnce(async () =>
      simulate({
        ...{ ...scenario, ...rules, policy, mechanism, ...(solver && { solver }) },
        onActions: (timeS, list) => {
          if (performance.now() > shownMs + SILENT_MS) {
            shownMs = performance.now()
            terminal.stderr.write(`simulated days under ${policy} ${mechanism}: ${(timeS / 86400).toFixed(1)}\n`)
          }
          if (actions === undefined) return
          for (const action of list) lines.push(`${JSON.stringify({ timeS, ...action })}\n`)
        },
      }),
    )
    results.push(result)
    progress?.end(`${policy} ${mechanism}`, `mean ${(summarize(result).meanCompletionS / 3600).toFixed(2)} h`)
    // Gives the event loop a turn, so that an interrupt is handled between two simulations.
    await setImmediate()
  }
  const summaries = results.map(summarize)
  if (actions !== undefined) writeFileAtomically(actions, lines.join(''))
  if (jobsCsv !== undefined) writeFileAtomically(jobsCsv, formatJobsCsv(results[0]!))
  if (options.json !== true) {
    const table = formatScheduleTable(summaries, isOne ? undefined : BASELINE)
    terminal.stdout.write(`${table}\n${files.map((file) => `written: ${file}\n`).join('')}`)
    return
  }
  const document = {
    ...{ format: FORMAT, version: FORMAT_VERSION, packageVersion: version },
    ...{ seed: options.seed, cluster: scenario.cluster },
    models: { source: options.profiles ?? options.models, ratio: options.ratio ?? 3 },
    jobs: {
      source: options.trace ?? `generated: ${options.generate}`,
      ...{ jobsPerHour: options.load ?? null, split: options.split ?? defaultSplit, durations: options.durations },
      count: scenario.jobs.length,
      skipped: scenario.skipped.map(({ jobId, message }) => ({ jobId, message })),
    },
    options: rules,
    ...(isOne ? { summary: summaries[0] } : { summaries }),
    files,
  }
  terminal.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
}

/** @throws UsageError for rounds shorter than the default, if there would be so many that a simulation takes too long */
function assertRound(roundS: number, { jobs, profiles, cluster }: Scenario): void {
  const iterationS = new Map(profiles.map((profile) => [profile.model, profile.iterationS]))
  const gpuS = sum(jobs.map(({ gpus, iterations, model }) => gpus * iterations * (iterationS.get(model) ?? 0)))
  const maxRounds = MIN_MAX_ROUNDS + 10 * jobs.length
  const minRoundS = Math.min(ROUND_S, Math.ceil((10 * gpuS) / totals(cluster).gpus / maxRounds) / 10)
  if (roundS >= minRoundS) return
  throw new UsageError(`--round is too short for this trace; give at least ${minRoundS} s`)
}

function formatJobsCsv({ jobs }: SimulationResult): string {
  const rows = jobs.map(({ job: { id, model, gpus, arrivalS, iterations }, finishS, completionS, attainedGpuS }) =>
    [id, model, gpus, arrivalS, iterations, finishS, completionS, attainedGpuS / gpus].join(),
  )
  return `${['id,model,gpus,arrival_s,iterations,finish_s,completion_s,attained_s', ...rows].join('\n')}\n`
}
