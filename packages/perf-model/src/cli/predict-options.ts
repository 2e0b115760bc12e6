import {
  asUsage,
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  parseCommand,
  positiveNumber,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'

/** What one call of `pctodl-predict` asks for. */
export interface PredictOptions {
  /** One name for all tenants, or one for each; `all` with `--test` only. */
  readonly model: readonly string[]
  readonly p: readonly number[]
  readonly b: readonly number[]
  readonly f: number | undefined
  readonly dataset: string | undefined
  readonly platform: string | undefined
  readonly memFreq: number | undefined
  readonly gpuMemFreq: boolean
  readonly oversubscribe: boolean
  readonly params: string | undefined
  readonly smSystemStage: boolean
  /** Null: predict; otherwise trace files to compare with, none of them meaning those of upstream's layout. */
  readonly test: readonly string[] | null
  readonly sample: number
  readonly seed: number
  readonly useActualUtil: boolean
  readonly plot: string | undefined
  readonly json: boolean
}

interface RawOptions {
  readonly model: string[]
  readonly p?: number[]
  readonly b?: number[]
  readonly f?: number
  readonly dataset?: string
  readonly platform?: string
  readonly memFreq?: number
  readonly gpuMemFreq?: boolean
  readonly oversubscribe?: boolean
  readonly params?: string
  readonly smSystemStage?: boolean
  readonly test?: true | string[]
  readonly sample: number
  readonly seed: number
  readonly useActualUtil?: boolean
  readonly plot?: string
  readonly json?: boolean
}

/** @throws UsageError for anything that a user could have typed wrong */
export async function parsePredictOptions(argv: readonly string[], terminal: Terminal): Promise<PredictOptions> {
  const command = newCommand(
    {
      name: 'pctodl-predict',
      description: 'Predict throughput, power and utilisation of tenants on one board.',
      example: 'pctodl-predict --platform 3080Ti --model resnet50 --p 50 25 --b 16 16 --f 1500',
    },
    terminal,
  )
    .requiredOption('--model <names...>', 'network of all tenants, or one for each; all with --test', listOf(String))
    .option('--p <percent...>', 'MPS share of each tenant', listOf(numberBetween(0, 100)))
    .option('--b <samples...>', 'batch size of each tenant', listOf(integerFrom(1)))
    .option('--f <MHz>', "SM clock (default: the board's boost clock)", positiveNumber('MHz'))
    .option('--dataset <name>', "dataset, as upstream's parameter sets are named (default: imagenet)")
    .option('--platform <name>', 'board: 3080Ti or A100 (default: ask nvidia-smi)')
    .option('--mem-freq <MHz>', "memory clock (default: the board's highest)", positiveNumber('MHz'))
    .option('--gpu-mem-freq', 'take the memory clock that nvidia-smi reports now')
    .option('--params <folder>', "parameters: <board>.json as pctodl-fit writes, or upstream's export with index.json")
    .option('--sm-system-stage', "with upstream's parameters: the SM system form that its predictor leaves out")
    .option('--oversubscribe', "with upstream's parameters: accept shares that sum to more than 100")
    .option('--test [files...]', 'compare with measured traces (default: mps_profile/mps_results*.csv)')
    .option('--sample <n>', 'rows to compare with at most', integerFrom(1), 100)
    .option('--seed <n>', 'seed of the choice of rows', integerFrom(0), 1)
    .option(
      '--use-actual-util',
      "with --test and upstream's parameters: feed its throughput and power stages measured utilisation",
    )
    .option('--plot <file.svg>', 'draw the prediction over the SM clock')
    .option('--json', 'print JSON')
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  return asUsage(() => checked(raw))
}

function checked(raw: RawOptions): PredictOptions {
  const { model, p = [], b = [], test } = raw
  if (test === undefined) {
    if (p.length === 0 || b.length === 0)
      throw new UsageError('--p and --b are needed: a share and a batch for each tenant')
    if (p.length !== b.length) throw new UsageError(`--p has ${p.length} shares, --b has ${b.length} batches`)
    if (model.length !== 1 && model.length !== p.length) {
      throw new UsageError(`--model has ${model.length} names: give one, or one for each of the ${p.length} tenants`)
    }
    if (model.includes('all')) throw new UsageError('--model all goes with --test only')
    if (raw.useActualUtil) throw new UsageError('--use-actual-util goes with --test only')
  } else if (raw.plot !== undefined)
    throw new UsageError('--plot draws a prediction, not a test; pctodl-fit draws residuals')
  if (raw.gpuMemFreq && raw.memFreq !== undefined)
    throw new UsageError('--gpu-mem-freq and --mem-freq exclude each other')
  return {
    model,
    p,
    b,
    f: raw.f,
    dataset: raw.dataset,
    platform: raw.platform,
    memFreq: raw.memFreq,
    gpuMemFreq: raw.gpuMemFreq ?? false,
    oversubscribe: raw.oversubscribe ?? false,
    params: raw.params,
    smSystemStage: raw.smSystemStage ?? false,
    test: test === undefined ? null : test === true ? [] : test,
    sample: raw.sample,
    seed: raw.seed,
    useActualUtil: raw.useActualUtil ?? false,
    plot: raw.plot,
    json: raw.json ?? false,
  }
}
