import {
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  type OptionAliases,
  oneOf,
  parseCommand,
  positiveNumber,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import { version } from '../../package.json'

export interface PredictOptions {
  /** One network for all tenants, or one network for each tenant; `all` is allowed with `--test` only. */
  readonly model: readonly string[]
  readonly shares: readonly number[]
  readonly batches: readonly number[]
  readonly smClock?: number
  readonly dataset?: string
  readonly gpu?: string
  readonly memClock?: number
  readonly gpuMemFreq?: boolean
  readonly params?: string
  /** Trace files to compare with, or true for the files in the Python code's layout. */
  readonly test?: true | readonly string[]
  readonly sample: number
  readonly seed: number
  readonly plot?: string
  readonly json?: boolean
}

const referenceSpelling: OptionAliases = {
  '--platform': '--gpu',
  '--p': '--shares',
  '--b': '--batches',
  '--f': '--sm-clock',
  '--mem-freq': '--mem-clock',
}

/** @throws UsageError for any invalid option */
export async function parsePredictOptions(argv: readonly string[], terminal: Terminal): Promise<PredictOptions> {
  const command = newCommand(
    {
      name: 'pctodl predict',
      version,
      description: 'Predict throughput, power and utilisation of tenants on one board.',
      example: 'pctodl predict --gpu 3080Ti --model resnet50 --shares 50 25 --batches 16 16 --sm-clock 1500',
    },
    terminal,
  )
    .requiredOption('--model <names...>', 'network of all tenants, or one for each; all with --test', listOf(String))
    .option('--shares <percent...>', 'MPS share of each tenant', listOf(numberBetween(0, 100)), [])
    .option('--batches <samples...>', 'batch size of each tenant', listOf(integerFrom(1)), [])
    .option('--sm-clock <MHz>', "SM clock (default: the board's boost clock)", positiveNumber('MHz'))
    .option('--dataset <name>', 'imagenet or caltech256: images are 224 x 224', oneOf('imagenet', 'caltech256'))
    .option('--gpu <name>', 'board, or the file of one (default: ask nvidia-smi)')
    .option('--mem-clock <MHz>', "memory clock (default: the board's highest)", positiveNumber('MHz'))
    .option('--gpu-mem-freq', 'use the memory clock that nvidia-smi reports')
    .option('--params <folder>', 'parameters: <board>.json as pctodl fit writes (default: shipped)')
    .option('--test [files...]', 'compare with measured traces (default: mps_profile/mps_results*.csv)')
    .option('--sample <n>', 'largest number of rows to compare with', integerFrom(1), 100)
    .option('--seed <n>', 'seed of the sample of rows', integerFrom(0), 1)
    .option('--plot <file.svg>', 'draw the prediction over the SM clock')
    .option('--json', 'print JSON')
  await parseCommand(command, argv, referenceSpelling)
  const options = command.opts<PredictOptions>()
  assertTogether(options)
  return options
}

function assertTogether({ model, shares, batches, test, plot, gpuMemFreq, memClock }: PredictOptions): void {
  if (test === undefined) {
    if (shares.length === 0 || batches.length === 0)
      throw new UsageError('--shares and --batches are needed: a share and a batch for each tenant')
    if (shares.length !== batches.length)
      throw new UsageError(`--shares has ${shares.length} shares, --batches has ${batches.length} batches`)
    if (model.length !== 1 && model.length !== shares.length) {
      throw new UsageError(
        `--model has ${model.length} names: give one, or one for each of the ${shares.length} tenants`,
      )
    }
    if (model.includes('all')) throw new UsageError('--model all goes with --test only')
  } else if (plot !== undefined)
    throw new UsageError('--plot draws a prediction, not a test; pctodl fit draws residuals')
  if (gpuMemFreq && memClock !== undefined) throw new UsageError('--gpu-mem-freq and --mem-clock exclude each other')
}
