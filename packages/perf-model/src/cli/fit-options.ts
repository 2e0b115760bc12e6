import {
  asUsage,
  integerFrom,
  listOf,
  newCommand,
  oneOf,
  parseCommand,
  positiveNumber,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import { findGpuSpec, type GpuSpec } from '@pctodl/platform'
import { version } from '../../package.json'

export interface CommandFitOptions {
  readonly spec: GpuSpec
  readonly gpu: string
  /** Trace files. If empty, files in the Python code's layout are searched in the current folder. */
  readonly traces: readonly string[]
  /** Networks to fit. If empty or `all`: all networks in the traces. */
  readonly model: readonly string[]
  readonly dataset?: string
  readonly memClock?: number
  readonly unlockedClock: 'measured' | 'nominal'
  readonly folds: number
  readonly starts: number
  readonly seed: number
  readonly params: string
  readonly plot?: string
  readonly json?: boolean
}

const steps = ['all', 'sm', 'mem', 'power', 'throughput'] as const

/** @throws UsageError for any invalid option */
export async function parseFitOptions(argv: readonly string[], terminal: Terminal): Promise<CommandFitOptions> {
  const command = newCommand(
    {
      name: 'pctodl fit',
      version,
      description: 'Fit the predictor of one board to measured traces, and report its cross-validated errors.',
      example: 'pctodl fit profile/A100.csv --gpu A100 --params fitted --plot residuals.svg',
    },
    terminal,
  )
    .argument('[traces...]', "trace files (default: mps_profile/ and scale_profile/ here, as the Python code's)")
    .option('--gpu <name>', 'board that the traces were measured on, or the file of one')
    .option('--step <name>', 'all: time, power and utilisation are fitted together', oneOf(...steps), 'all')
    .option('--model <names...>', 'fit only these networks', listOf(String), [])
    .option('--dataset <name>', 'use only the trace files of this dataset')
    .option('--mem-clock <MHz>', 'fit only this memory clock', positiveNumber('MHz'))
    .option('--train-all-mem-freq', 'fit all memory clocks together (the default)')
    .option(
      '--unlocked-clock <meaning>',
      'meaning of sm_freq in rows without a locked clock: measured, or nominal (the power limit may have lowered it)',
      oneOf('measured', 'nominal'),
      'measured',
    )
    .option('--folds <n>', 'folds of the cross-validation; 0 for none', integerFrom(0, 100), 5)
    .option('--starts <n>', 'number of starting points', integerFrom(1, 100), 2)
    .option('--seed <n>', 'seed of folds and starting points', integerFrom(0), 1)
    .option('--params <folder>', 'folder for <board>.json', 'fitted_parameters')
    .option('--plot <file.svg>', 'plot the residuals to this file')
    .option('--json', 'print the report as JSON')
  await parseCommand(command, argv, { '--platform': '--gpu', '--mem-freq': '--mem-clock' })
  const { gpu, step, ...options } = command.opts<Partial<CommandFitOptions> & { readonly step: string }>()
  if (step !== 'all') {
    throw new UsageError(`--step ${step}: the stages of this model are fitted together; leave --step out`)
  }
  if (options.folds === 1) throw new UsageError('--folds: 0, or at least 2')
  if (gpu === undefined) throw new UsageError('name the board with --gpu, or its file')
  const spec = asUsage(() => findGpuSpec(gpu))
  return { ...(options as CommandFitOptions), gpu, spec, traces: command.args }
}
