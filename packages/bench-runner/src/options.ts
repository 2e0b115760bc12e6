import { asUsage, integerFrom, newCommand, parseCommand, positiveNumber, type Terminal } from '@pctodl/command-line'
import { findGpuSpec } from '@pctodl/platform'
import { InvalidArgumentError } from 'commander'
import { type AlgorithmName, algorithmNames, parseAlgorithms } from './algorithms.js'
import { type BenchTask, tasksOf } from './tasks.js'

/** What one call of the command line asks for, checked. */
export interface BenchOptions {
  readonly tasks: readonly BenchTask[]
  readonly algorithms: readonly AlgorithmName[]
  readonly iterations: number
  readonly seed: number
  readonly resultDir: string
  readonly chart: boolean
  readonly dryRun: boolean
  readonly json: boolean
}

interface RawOptions {
  readonly gpu: string
  readonly algorithm: string
  readonly taskId?: number[]
  readonly iterations: number
  readonly powerCap?: number
  readonly seed: number
  readonly resultDir: string
  readonly chart?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** @throws UsageError for anything that a user could have typed wrong */
export async function parseOptions(argv: readonly string[], terminal: Terminal): Promise<BenchOptions> {
  const command = newCommand(
    {
      name: 'bench-runner',
      description: "Run tasks of the PctoDL paper's matrix on a simulated board and compare power-capping algorithms.",
      example: 'bench-runner --gpu 3080Ti --algorithm pctodl,powercap --task-id 6 --iterations 24 --chart',
    },
    terminal,
  )
    .requiredOption('--gpu <name>', 'board: 3080Ti or A100')
    .option('--algorithm <names>', `one of ${algorithmNames.join(', ')}, a comma list, or all`, 'all')
    .option('--task-id <ids...>', "task ids to run, in this order (default: all of the board's)", collectIds)
    .option('--iterations <n>', 'iterations of 5 s; tasks 29 and 30 always take 150', integerFrom(1), 5)
    .option(
      '--power-cap <watts>',
      'run the selected tasks under this cap instead of their own',
      positiveNumber('watts'),
    )
    .option('--seed <n>', 'seed of the simulated board (sensor error, noise)', integerFrom(0), 1)
    .option('--result-dir <folder>', 'where results go', './benchmark_results')
    .option('--chart', 'draw power against the cap and throughput over time, as SVG and PNG')
    .option('--dry-run', 'print what would run, and write nothing')
    .option('--json', 'print a JSON report on standard output')
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  return asUsage(() => ({
    tasks: withPowerCap(tasksOf(findGpuSpec(raw.gpu).key, raw.taskId), raw.powerCap),
    algorithms: parseAlgorithms(raw.algorithm),
    iterations: raw.iterations,
    seed: raw.seed,
    resultDir: raw.resultDir,
    chart: raw.chart ?? false,
    dryRun: raw.dryRun ?? false,
    json: raw.json ?? false,
  }))
}

/** A cap of the caller's own makes a task with a schedule a fixed-cap one. */
function withPowerCap(tasks: readonly BenchTask[], powerCapW: number | undefined): readonly BenchTask[] {
  if (powerCapW === undefined) return tasks
  return tasks.map((task) => ({ ...task, powerCapW, schedule: null, fixedIterations: null }))
}

function collectIds(value: string, before: number[] = []): number[] {
  const id = Number(value)
  if (!Number.isInteger(id)) throw new InvalidArgumentError('not an integer.')
  if (before.includes(id)) throw new InvalidArgumentError('asked for twice.')
  return [...before, id]
}
