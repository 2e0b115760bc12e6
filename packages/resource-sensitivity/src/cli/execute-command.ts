import path from 'node:path'
import {
  exampleText,
  given,
  integerFrom,
  listOf,
  newSubcommand,
  numberBetween,
  oneOf,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import { silenceLine } from '@pctodl/job-array'
import { mean } from '@pctodl/numerics'
import type { Command } from 'commander'
import { version } from '../../package.json'
import { totals } from '../cluster.js'
import { type MechanismName, mechanismNames, type PolicyName, policyNames } from '../engine/scheduling-options.js'
import { type ExecutedJob, executeSchedule } from '../execute/execute-schedule.js'
import { requestOfSchedule, type ScheduleRequest } from '../execute/requests.js'
import { type SlurmRun, SlurmScheduleExecutor } from '../execute/slurm-schedule-executor.js'
import { parseReplayCsv } from '../input-files.js'
import type { Job } from '../trace.js'
import { addScenarioOptions, loadScenario, read, type ScenarioOptions } from './scenario.js'

interface ExecuteOptions extends ScenarioOptions, Readonly<Record<'resizeCost' | 'grace' | 'maxFailures', number>> {
  readonly workDir: string
  readonly nodes: string[]
  readonly policy: PolicyName
  readonly mechanism: Exclude<MechanismName, 'optimal'>
  readonly slurmArgument?: string[]
}

export function addExecuteCommand(parent: Command, terminal: Terminal): void {
  const real = mechanismNames.filter((name) => name !== 'optimal')
  const command = newSubcommand(
    parent,
    'execute',
    'Run a trace of jobs on a Slurm cluster, with the scheduler of simulate. Jobs arrive at the times of the trace, in real seconds.\n' +
      '{model}, {job} and {gpus} in the command are filled in per job; it must follow the checkpoint contract, see README.\n' +
      'Repeat the call to resume after an interrupt or a kill: --work-dir keeps a journal.\n' +
      'While it runs, submit and cancel add and end jobs, given the same --work-dir.',
    terminal,
  )
    .argument('<command...>', 'command that runs a job, after --')
    .requiredOption('--work-dir <folder>', 'private folder visible to this machine and the nodes; one per schedule')
    .requiredOption('--nodes <names>', "Slurm's node names, in the order of the cluster's servers", listOf(String))
    .option('--policy <name>', `order of the jobs: ${policyNames.join(', ')}`, oneOf(...policyNames), 'srtf')
    .option('--mechanism <name>', `allocation of CPU and memory: ${real.join(', ')}`, oneOf(...real), 'tune')
    .option('--resize-cost <s>', 'cost of a resize, which restarts the job here', numberBetween(0, 1e9), 30)
    .option('--slurm-argument <argument...>', 'further sbatch arguments, e.g. --slurm-argument=--partition=long')
    .option('--grace <s>', 'time to save before a job is killed', numberBetween(0, 1e6), 30)
    .option('--max-failures <n>', 'failures of a job before it is given up', integerFrom(0), 3)
  addScenarioOptions(command, 30)
    .addHelpText(
      'after',
      exampleText(
        'pctodl sensitivity execute --trace jobs.csv --cluster cluster.json --nodes node0,node1 --work-dir /shared/run-1 -- python train.py {model}',
      ),
    )
    .action(() => execute(command, terminal))
}

async function execute(command: Command, terminal: Terminal): Promise<void> {
  const options = command.opts<ExecuteOptions>()
  const scenario = loadScenario(options, terminal)
  const { servers } = totals(scenario.cluster)
  if (options.nodes.length !== servers) {
    throw new UsageError(`--nodes: got ${options.nodes.length} names for ${servers} servers; give one per server`)
  }
  const runs: SlurmRun[] = []
  const { policy, mechanism, workDir } = options
  const { cluster, profiles, jobs: traced } = scenario
  const executor = new SlurmScheduleExecutor({
    ...{ workDir, nodes: options.nodes, graceS: options.grace, maxFailures: options.maxFailures },
    commandOf: (job) => command.args.map((word) => fillIn(word, job)) as [string, ...string[]],
    onRun: (run) => {
      runs.push(run)
      const startUpS = run.startUpS.toFixed(1)
      terminal.stderr.write(`job ${run.jobId} run ${run.run}: started after ${startUpS} s in the queue\n`)
    },
    onSilence: (silence) => terminal.stderr.write(silenceLine(silence)),
    onNode: ({ node, state }) => terminal.stderr.write(`node ${node}: ${state}\n`),
    ...given({ sbatchArguments: options.slurmArgument }),
  })
  const jobs = await executeSchedule(
    {
      ...{ cluster, profiles, jobs: traced, policy, mechanism, roundS: options.round },
      ...{ resizeCostS: options.resizeCost, restartCostS: options.restartCost, spreadPenalty: options.spreadPenalty },
      ...{ journal: path.join(workDir, 'journal.jsonl'), requests: path.join(workDir, REQUESTS) },
      onRefused: (file, { message }) => terminal.stderr.write(`refused: ${file}: ${message}\n`),
      signal: terminal.signal,
      onActions: (timeS, actions) => {
        for (const { type, jobId, run } of actions) {
          terminal.stderr.write(`${timeS.toFixed(1)} s: ${type} job ${jobId} run ${run}\n`)
        }
      },
    },
    executor,
  )
  const givenUp = [...executor.givenUp].map(([jobId, { exitCode, state, logFile }]) => ({
    ...{ jobId, exitCode, state, logFile },
  }))
  const meanCompletionS = mean(jobs.map(({ completionS }) => completionS))
  const makespanS = Math.max(...jobs.map(({ finishS }) => finishS)) - Math.min(...jobs.map(({ job }) => job.arrivalS))
  const document = {
    ...{ format: 'pctodl-sensitivity-execution', version: 1, packageVersion: version },
    ...{ policy, mechanism, cluster },
    ...{ meanCompletionS, makespanS, jobs, runs, givenUp },
  }
  const lines = [
    'job  model  GPUs  placed s  finish s  completion s  runs  outcome',
    ...jobs.map(lineOf),
    `mean completion ${meanCompletionS.toFixed(1)} s, makespan ${makespanS.toFixed(1)} s`,
    ...givenUp.map(
      ({ jobId, exitCode, state, logFile }) =>
        `given up: job ${jobId} (${exitCode ?? state ?? 'lost'}), see ${logFile}`,
    ),
  ]
  terminal.stdout.write(options.json === true ? `${JSON.stringify(document, null, 2)}\n` : `${lines.join('\n')}\n`)
}

function lineOf({ job, outcome, firstPlacedS, finishS, completionS, runs }: ExecutedJob): string {
  const placed = firstPlacedS?.toFixed(1) ?? '-'
  return [job.id, job.model, job.gpus, placed, finishS.toFixed(1), completionS.toFixed(1), runs, outcome].join('  ')
}

function fillIn(word: string, { model, id, gpus }: Job): string {
  const values = { model, job: id, gpus }
  return word.replaceAll(/\{(model|job|gpus)\}/g, (_, name: keyof typeof values) => String(values[name]))
}

const REQUESTS = 'requests'

export function addRequestCommands(parent: Command, terminal: Terminal): void {
  const workDir = ['--work-dir <folder>', 'work folder of the schedule'] as const
  const ask = (request: ScheduleRequest, folder: string) => {
    const file = requestOfSchedule(path.join(folder, REQUESTS), request)
    terminal.stdout.write(`requested: ${file}\n`)
  }
  const submit = newSubcommand(parent, 'submit', 'Submit jobs to a running schedule (see execute).', terminal)
    .requiredOption(...workDir)
    .requiredOption('--trace <csv>', 'lines id,model,arrival_s,iterations,gpus; the jobs arrive now')
    .addHelpText('after', exampleText('pctodl sensitivity submit --work-dir /shared/run-1 --trace more.csv'))
    .action(() => {
      const { workDir: folder, trace } = submit.opts<{ workDir: string; trace: string }>()
      const jobs = parseReplayCsv(read(trace), trace)
      ask({ submit: jobs.map(({ id, model, iterations, gpus }) => ({ id, model, iterations, gpus })) }, folder)
    })
  const cancel = newSubcommand(parent, 'cancel', 'Cancel jobs of a running schedule (see execute).', terminal)
    .argument('<jobs...>', 'IDs of arrived jobs', listOf(integerFrom(0)))
    .requiredOption(...workDir)
    .addHelpText('after', exampleText('pctodl sensitivity cancel --work-dir /shared/run-1 3 7'))
    .action((ids: number[]) => ask({ cancel: ids }, cancel.opts<{ workDir: string }>().workDir))
}
