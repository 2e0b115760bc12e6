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
import { matrixAlgorithms } from '@pctodl/report'
import { type BackendKind, backendKinds } from '@pctodl/run'
import { version } from '../package.json'
import { type AlgorithmName, parseAlgorithms } from './algorithms.js'
import { anyTasksOf, isServed, type Task, type TaskSet, taskSets } from './tasks.js'

/** More processes would take longer to start than they save. */
const MAX_JOBS = 8

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
    .option('--detect-gpu', 'print the boards of this machine and their tasks, then exit')
    .option('--backend <kind>', 'sim, nvml (real boards), or auto: real if present', oneOf(...backendKinds), 'sim')
    .option('--worker <kind>', 'real board: torch, onnx, or a command that speaks the tenant protocol', 'torch')
    .option('--dataset-path <folder>', 'real board: folder with a subfolder per dataset (default: synthetic images)')
    .option('--params <folder>', 'predictor parameters: <board>.json as pctodl fit writes (default: shipped)')
    .option(
      '--algorithm <names>',
      `a comma list of ${matrixAlgorithms.join(', ')}, tuned (pctodl and its strongest opponents), or all`,
      'tuned',
    )
    .option(
      '--task-id <ids...>',
      "task ids to run, in this order (default: all of the board's)",
      listOf(integerFrom(1)),
    )
    .option(
      '--set <names>',
      `tasks if no ids are given: ${taskSets.join(', ')}, a comma list, or all (default: paper)`,
      listOf(oneOf(...taskSets, 'all')),
    )
    .option('--max-load', 'services: search the highest common load at which every p99 and the cap hold')
    .option(
      '--load-factor <factors>',
      'services: factors on the rates, 0.001 to 100',
      listOf(numberBetween(0.001, 100)),
    )
    .option('--start-from <id>', 'only tasks with at least this id', integerFrom(1))
    .option('--iterations <n>', 'windows of 5 s; schedules and services have their own number', integerFrom(1), 24)
    .option('--power-cap <watts>', "cap of the tasks, instead of each task's own", positiveNumber('watts'))
    .option('--latency-objective <ms>', "p99 of batches, instead of each task's own", positiveNumber('milliseconds'))
    .option('--power-margin <watts>', 'plan this far below the cap', numberBetween(0, 1000), 0)
    .option('--enable-shadow', 'let pctodl search for better tenants while it runs')
    .option('--seed <n>', 'seed of the simulated board (sensor error, noise)', integerFrom(0), 1)
    .option('--seeds <n>', 'number of seeds, from --seed on; real board: of repetitions', integerFrom(1), 1)
    .option('--variants <n>', 'number of boards of the simulated ensemble, instead of the shipped one', integerFrom(1))
    .option('--result-dir <folder>', 'where results go', './benchmark_results')
    .option('--resume', 'keep complete results, and run the rest')
    .option('--timeout <seconds>', 'end runs that take longer', positiveNumber('seconds'))
    .option('--jobs <n>', 'number of parallel runs, each in its own process (default: by cores)', integerFrom(1))
    .option('--executor <name>', 'local or slurm', oneOf('local', 'slurm'), 'local')
    .option('--slurm-elements <n>', 'elements of the job array; the work is spread over them', integerFrom(1), 8)
    .option('--slurm-argument <argument...>', 'arguments of sbatch, e.g. --slurm-argument=--gres=gpu:a100:1')
    .option('--chart', 'draw power against the cap and throughput over time, as SVG, PNG and PDF')
    .option('--save-summary', 'write the closing table to <result-dir>/summary.txt and .json')
    .option('--dry-run', 'print the runs, and write nothing')
    .option('--json', 'print a JSON report on standard output')
  await parseCommand(command, argv)
  return command.opts<RawBenchOptions>()
}

/**
 * @param boards keys of the boards to run on; `isReal` if they are this machine's (see `settlePlace`)
 * @throws UsageError for names that do not exist, or options that exclude each other
 */
export function checkOptions(raw: RawBenchOptions, boards: readonly string[], isReal: boolean): BenchOptions {
  const tasks = asUsage(() => selectTasks(raw, boards)).map((task) => withLimits(task, raw))
  refuseUnheeded(raw, tasks, isReal)
  const algorithms = asUsage(() => parseAlgorithms(raw.algorithm))
  const jobs = isReal ? 1 : (raw.jobs ?? Math.min(MAX_JOBS, availableParallelism()))
  return { ...raw, tasks, algorithms, isReal, jobs }
}

/** @throws UsageError for an option that affects none of the tasks */
function refuseUnheeded(raw: RawBenchOptions, tasks: readonly Task[], isReal: boolean): void {
  if (raw.maxLoad && raw.loadFactor !== undefined)
    throw new UsageError('--max-load finds the factor; omit --load-factor')
  if (isReal && tasks.some(isServed))
    throw new UsageError('--backend: services run on simulated boards only; omit them, or use --backend sim')
  if (isReal && raw.variants !== undefined)
    throw new UsageError('--variants: real boards have no variants; repeat the measurement with --seeds')
  if (isReal && (raw.jobs ?? 1) > 1 && raw.executor === 'local')
    throw new UsageError('--jobs: one run at a time on a real board; spread them over boards with --executor slurm')
  const ofServices = [raw.maxLoad && '--max-load', raw.loadFactor !== undefined && '--load-factor']
  const ofTenants = [
    raw.latencyObjective !== undefined && '--latency-objective',
    raw.powerMargin > 0 && '--power-margin',
    raw.enableShadow && '--enable-shadow',
  ]
  const stray = [...(tasks.some(isServed) ? [] : ofServices), ...(tasks.every(isServed) ? ofTenants : [])].find(Boolean)
  if (stray) throw new UsageError(`${stray}: none of the selected tasks uses it; see --set`)
}

function selectTasks({ taskId: ids, startFrom, set = ['paper'] }: RawBenchOptions, boards: readonly string[]): Task[] {
  const sets = set.includes('all') ? taskSets : set
  const taskId = ids && [...new Set(ids)]
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

/** Replaces a task's cap, with its schedule, and its latency objective by those of the options. */
function withLimits(task: Task, { powerCap: powerCapW, latencyObjective: latencyMs }: RawBenchOptions): Task {
  if (isServed(task)) return powerCapW === undefined ? task : { ...task, caps: fixedCap(powerCapW) }
  const capped = powerCapW === undefined ? task : { ...task, powerCapW, schedule: null, fixedIterations: null }
  if (latencyMs === undefined) return capped
  const { latencyFactor: _, latencyOfEqualSplit: __, ...others } = capped
  return { ...others, latencyMs }
}
