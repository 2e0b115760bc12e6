import { availableParallelism } from 'node:os'
import {
  asUsage,
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  oneOf,
  parseCommand,
  positiveNumber,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import { fixedCap } from '@pctodl/platform'
import { type BackendKind, backendKinds } from '@pctodl/run'
import { InvalidArgumentError } from 'commander'
import { version } from '../package.json'
import { type AlgorithmName, everyAlgorithm, parseAlgorithms } from './algorithms.js'
import { anyTasksOf, isServed, type Task, type TaskSet, taskSets } from './tasks.js'

/** More processes would take longer to start than they save. */
const MAX_JOBS = 8

/** Options as typed, before names are resolved. */
export interface RawBenchOptions {
  readonly gpu?: string
  readonly detectGpu?: boolean
  readonly backend: BackendKind
  readonly worker: string
  readonly datasetPath?: string
  readonly params?: string
  readonly algorithm: string
  readonly taskId?: number[]
  readonly startFrom?: number
  readonly set?: readonly (TaskSet | 'all')[]
  readonly maxLoad?: true
  readonly loadFactor?: readonly number[]
  readonly variants?: number
  readonly latencyObjective?: number
  readonly iterations: number
  readonly powerCap?: number
  readonly powerMargin: number
  readonly enableShadow?: boolean
  readonly seed: number
  readonly seeds: number
  readonly resultDir: string
  readonly resume?: boolean
  readonly timeout?: number
  readonly jobs?: number
  readonly executor: 'local' | 'slurm'
  readonly slurmElements: number
  readonly slurmArgument?: readonly string[]
  readonly chart?: boolean
  readonly saveSummary?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** Options checked, with their tasks and algorithms. */
export interface BenchOptions extends RawBenchOptions {
  readonly tasks: readonly Task[]
  readonly algorithms: readonly AlgorithmName[]
  readonly isReal: boolean
  readonly jobs: number
  /** A Slurm job array whose elements share the work; absent for runs on this machine. */
  readonly slurm?: { readonly elements: number; readonly sbatchArguments: readonly string[] }
}

/** @throws UsageError for anything that a user could have mistyped */
export async function parseRawOptions(argv: readonly string[], terminal: Terminal): Promise<RawBenchOptions> {
  const command = newCommand(
    {
      name: 'bench-runner',
      version,
      description:
        "Run tasks of the PctoDL paper's matrix and compare power-capping algorithms.\n" +
        'Further commands: bench-runner report FOLDER, bench-runner compare FOLDER FOLDER.',
      example: 'bench-runner --gpu 3080Ti --task-id 6 --chart',
    },
    terminal,
  )
    .option('--gpu <name>', 'board: 3080Ti, A100, a comma list, or all (default: the board of this machine)')
    .option('--detect-gpu', 'print the boards of this machine and their tasks, and do nothing else')
    .option(
      '--backend <kind>',
      'sim: a simulated board; nvml: the real one; auto: the real one where there is one',
      oneOf(...backendKinds),
      'sim',
    )
    .option('--worker <kind>', 'real board: torch, onnx, or a command that speaks the tenant protocol', 'torch')
    .option(
      '--dataset-path <folder>',
      'real board: folder of the datasets, one subfolder each (default: synthetic images)',
    )
    .option('--params <folder>', 'predictor parameters: <board>.json as pctodl fit writes (default: shipped)')
    .option(
      '--algorithm <names>',
      `one of ${everyAlgorithm.join(', ')}, a comma list, tuned (pctodl and its strongest opponents), or all`,
      'tuned',
    )
    .option('--task-id <ids...>', "task ids to run, in this order (default: all of the board's)", collectIds)
    .option(
      '--set <names>',
      `tasks where no ids are given: ${taskSets.join(', ')}, a comma list, or all (default: paper)`,
      listOf(oneOf(...taskSets, 'all')),
    )
    .option('--max-load', 'services: the highest common load at which every service keeps its p99 and the cap holds')
    .option(
      '--load-factor <factors>',
      "services: factor on the tasks' own rates, 0.001 to 100, or a comma list",
      listOf(numberBetween(0.001, 100)),
    )
    .option('--start-from <id>', 'only tasks with at least this id', integerFrom(1))
    .option(
      '--iterations <n>',
      'iterations of 5 s; tasks with a schedule or services take their own',
      integerFrom(1),
      24,
    )
    .option(
      '--power-cap <watts>',
      'run the selected tasks under this cap instead of their own',
      positiveNumber('watts'),
    )
    .option(
      '--latency-objective <ms>',
      'p99 batch latency objective of the selected tasks, instead of their own',
      positiveNumber('milliseconds'),
    )
    .option('--power-margin <watts>', 'plan this far below the cap', numberBetween(0, 1000), 0)
    .option('--enable-shadow', 'let pctodl keep looking for better tenants while it runs')
    .option('--seed <n>', 'seed of the simulated board (sensor error, noise)', integerFrom(0), 1)
    .option(
      '--seeds <n>',
      'number of seeds, from --seed on (real board: of repetitions); tables then show mean and range',
      integerFrom(1),
      1,
    )
    .option(
      '--variants <n>',
      'number of boards of the simulated ensemble, instead of the shipped one; from 16 on tables show 95 % intervals',
      integerFrom(1),
    )
    .option('--result-dir <folder>', 'where results go', './benchmark_results')
    .option('--resume', 'keep complete results, run the others')
    .option('--timeout <seconds>', 'end a run that takes longer', positiveNumber('seconds'))
    .option('--jobs <n>', 'runs at the same time, each in its own process (default: by cores)', integerFrom(1))
    .option('--executor <name>', 'local or slurm', oneOf('local', 'slurm'), 'local')
    .option('--slurm-elements <n>', 'elements of the job array; the work is spread over them', integerFrom(1), 8)
    .option('--slurm-argument <argument...>', 'arguments of sbatch, e.g. --slurm-argument=--gres=gpu:a100:1')
    .option('--chart', 'draw power against the cap and throughput over time, as SVG and PNG')
    .option('--save-summary', 'write the closing table to <result-dir>/summary.txt and .json')
    .option('--dry-run', 'print what would run, and write nothing')
    .option('--json', 'print a JSON report on standard output')
  await parseCommand(command, argv)
  return command.opts<RawBenchOptions>()
}

/**
 * @param boards keys of the boards to run on; `isReal` if they are this machine's (see `settlePlace`)
 * @throws UsageError for names that do not exist, or options that exclude each other
 */
export function checkOptions(raw: RawBenchOptions, boards: readonly string[], isReal: boolean): BenchOptions {
  const tasks = asUsage(() => withLatency(withPowerCap(selectTasks(raw, boards), raw.powerCap), raw.latencyObjective))
  refuseUnheeded(raw, tasks, isReal)
  const algorithms = asUsage(() => parseAlgorithms(raw.algorithm))
  const jobs = isReal ? 1 : (raw.jobs ?? Math.min(MAX_JOBS, availableParallelism()))
  const slurm = { elements: raw.slurmElements, sbatchArguments: raw.slurmArgument ?? [] }
  return { ...raw, tasks, algorithms, isReal, jobs, ...(raw.executor === 'slurm' ? { slurm } : {}) }
}

/** @throws UsageError for an option that affects none of the tasks */
function refuseUnheeded(raw: RawBenchOptions, tasks: readonly Task[], isReal: boolean): void {
  if (raw.maxLoad && raw.loadFactor !== undefined)
    throw new UsageError('--max-load finds the factor; omit --load-factor')
  if (isReal && tasks.some(isServed))
    throw new UsageError('--backend: services run on simulated boards only; omit them, or use --backend sim')
  const ofServices = [raw.maxLoad && '--max-load', raw.loadFactor !== undefined && '--load-factor']
  const ofTenants = [
    raw.latencyObjective !== undefined && '--latency-objective',
    raw.powerMargin > 0 && '--power-margin',
    raw.enableShadow && '--enable-shadow',
  ]
  if (isReal && raw.variants !== undefined)
    throw new UsageError('--variants: real boards have no variants; repeat the measurement with --seeds')
  if (isReal && (raw.jobs ?? 1) > 1 && raw.executor === 'local')
    throw new UsageError('--jobs: one run at a time on a real board; spread them over boards with --executor slurm')
  const stray = [...(tasks.some(isServed) ? [] : ofServices), ...(tasks.every(isServed) ? ofTenants : [])].find(Boolean)
  if (stray) throw new UsageError(`${stray}: none of the selected tasks uses it; see --set`)
}

function selectTasks({ taskId, startFrom, set = ['paper'] }: RawBenchOptions, boards: readonly string[]): Task[] {
  const sets = set.includes('all') ? taskSets : set
  // With several boards, an id selects the tasks of that id on all boards that have it.
  if (taskId !== undefined && boards.length === 1) return anyTasksOf(boards[0]!, taskId, sets)
  const all = boards.flatMap((board) => anyTasksOf(board, undefined, taskId === undefined ? sets : taskSets))
  const selected =
    taskId === undefined
      ? all.filter(({ id }) => id >= (startFrom ?? 0))
      : taskId.flatMap((id) => all.filter((task) => task.id === id))
  if (selected.length === 0) {
    const asked = taskId === undefined ? `--start-from ${startFrom}` : `--task-id ${taskId.join(' ')}`
    throw new UsageError(`${asked}: there are the tasks ${all[0]!.id} to ${all.at(-1)!.id}`)
  }
  return selected
}

/** A cap given by the user replaces a task's schedule. */
function withPowerCap(tasks: readonly Task[], powerCapW: number | undefined): readonly Task[] {
  if (powerCapW === undefined) return tasks
  return tasks.map((task) =>
    isServed(task)
      ? { ...task, caps: fixedCap(powerCapW) }
      : { ...task, powerCapW, schedule: null, fixedIterations: null },
  )
}

function withLatency(tasks: readonly Task[], latencyMs: number | undefined): readonly Task[] {
  if (latencyMs === undefined) return tasks
  return tasks.map((task) => {
    if (isServed(task)) return task
    const { latencyFactor: _, latencyOfEqualSplit: __, ...others } = task
    return { ...others, latencyMs }
  })
}

function collectIds(value: string, before: number[] = []): number[] {
  const id = Number(value)
  if (!Number.isInteger(id)) throw new InvalidArgumentError('not an integer.')
  if (before.includes(id)) throw new InvalidArgumentError('asked for twice.')
  return [...before, id]
}
