import path from 'node:path'
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
import { assertTenants, type CapSchedule, fixedCap, given, networkName, type Tenant } from '@pctodl/platform'
import { version } from '../package.json'
import { type BackendKind, backendKinds } from './backend-kind.js'
import { readCapSchedule } from './cap-schedule-file.js'
import type { Experiment } from './experiment.js'
import { type ExperimentAlgorithm, experimentAlgorithms } from './policy-names.js'
import { capsByIteration, publishedSchedules, SCHEDULED_ITERATIONS, WINDOW_MS } from './published-schedules.js'

/** Parsed options of a run. */
export interface ExperimentCall {
  readonly backend: BackendKind
  /** Index, UUID or name of a real board, or name of a simulated one. */
  readonly gpu: string
  readonly worker?: string
  readonly dataset: string
  readonly datasetPath?: string
  readonly seed: number
  readonly caps: CapSchedule
  readonly iterations: number
  readonly logFile?: string
  readonly json: boolean
  /** Settings of the policy; the board's key is added once the board is open. */
  readonly experiment: Omit<Experiment, 'board'>
}

/** Parsed options of a replay. */
export interface ReplayCall {
  readonly replay: string
  readonly json: boolean
}

interface RawOptions {
  readonly algorithm: ExperimentAlgorithm
  readonly model?: string
  readonly dataset: string
  readonly datasetPath?: string
  readonly gpu: string
  readonly backend: BackendKind
  readonly worker?: string
  readonly seed: number
  readonly powerCap?: number
  readonly powerSchedule?: 'up' | 'down'
  readonly capSchedule?: string
  readonly iterations?: number
  readonly duration?: number
  readonly powerMargin: number
  readonly memClock?: number
  readonly mpsStep: number
  readonly shares?: number[]
  readonly batches?: number[]
  readonly enableShadow?: boolean
  readonly hardwareLimit: boolean
  readonly sensorTolerance: number
  readonly params?: string
  readonly logFile?: string
  readonly replay?: string
  readonly json?: boolean
}

const DEFAULT_ITERATIONS = 10

/** @throws UsageError if an option is invalid */
export async function parseRunOptions(
  argv: readonly string[],
  terminal: Terminal,
): Promise<ExperimentCall | ReplayCall> {
  if (argv.some((word) => /^--variant(=|$)/.test(word))) {
    throw new UsageError('--variant: the form is part of the name, as in --algorithm morak-tuned, morak-published')
  }
  const command = newCommand(
    {
      name: 'pctodl run',
      version,
      description: 'Run one power-capping algorithm on one board, and show its state live.',
      example: 'pctodl run --gpu 3080Ti --model resnet50 --power-schedule down --duration 300 --log-file run.csv',
    },
    terminal,
  )
    .option('--algorithm <name>', `one of ${experimentAlgorithms.join(', ')}`, algorithmNamed, 'pctodl')
    .option('--model <name>', 'the network that all tenants serve')
    .option('--dataset <name>', 'name of the data set, stored in the record', 'imagenet')
    .option('--dataset-path <folder>', 'real boards: folder with a subfolder per data set (default: synthetic images)')
    .option('--gpu <name>', 'name of a simulated board; index, UUID or name of a real one', '3080Ti')
    .option('--backend <kind>', 'sim, nvml, or auto: real if there is one', oneOf(...backendKinds), 'auto')
    .option('--worker <kind>', 'real boards: torch, onnx, or a command that speaks the tenant protocol')
    .option('--seed <n>', 'seed of a simulated board', integerFrom(0), 1)
    .option('--power-cap <watts>', 'a fixed cap', positiveNumber('watts'))
    .option('--power-schedule <name>', 'down: 200, 160, 120 W; up: 130, 180, 230 W; 250 s each', oneOf('up', 'down'))
    .option('--cap-schedule <file>', 'CSV with the columns time_s,power_cap_w')
    .option(
      '--iterations <n>',
      `windows of 5 s (default: ${DEFAULT_ITERATIONS}, ${SCHEDULED_ITERATIONS} for --power-schedule)`,
      integerFrom(1),
    )
    .option('--duration <seconds>', 'instead of --iterations; rounded up to whole windows', positiveNumber('seconds'))
    .option('--power-margin <watts>', 'plan this far below the cap', numberBetween(0, 1000), 0)
    .option('--mem-clock <MHz>', 'plan for this memory clock only', positiveNumber('MHz'))
    .option('--mps-step <percent>', 'shares are multiples of this', integerFrom(1, 100), 5)
    .option('--shares <percents>', 'shares instead of a plan, e.g. 50,30,20', listOf(positiveNumber('percent')))
    .option('--batches <samples>', 'batch sizes of the shares: one each, or one for all', listOf(integerFrom(1)))
    .option('--enable-shadow', 'let pctodl search for better tenants while it runs')
    .option('--no-hardware-limit', "do not set the board's own power limit")
    .option('--sensor-tolerance <percent>', 'margin below the cap for sensor error', numberBetween(0, 49), 0)
    .option('--params <folder>', 'predictor parameters: <board>.json as pctodl fit writes (default: shipped)')
    .option('--log-file <file>', 'write a CSV of the windows, and FILE.events.jsonl, the record of the run')
    .option('--replay <record>', 'replay a recorded run to a new policy with the same options, and explain it')
    .option('--json', 'print the evaluation (or the replay) as JSON')
  await parseCommand(command, argv, {
    '--mem-freq': '--mem-clock',
    '--mps-resources': '--shares',
    '--batch-sizes': '--batches',
  })
  const raw = command.opts<RawOptions>()
  return asUsage(() => checked(raw))
}

function algorithmNamed(text: string): ExperimentAlgorithm {
  if (text === 'static-best') {
    throw new UsageError("--algorithm: pctodl's plan at its planned clock is plan-locked; bench-runner has static-best")
  }
  return oneOf(...experimentAlgorithms)(text)
}

function checked(raw: RawOptions): ExperimentCall | ReplayCall {
  const json = raw.json ?? false
  if (raw.replay !== undefined) return { replay: raw.replay, json }
  if (raw.model === undefined) throw new UsageError('--model: say which network to serve')
  const caps = capsOfCall(raw)
  const { backend, gpu, worker, dataset, datasetPath, seed, logFile } = raw
  return {
    ...given({ worker, datasetPath, logFile }),
    ...{ backend, gpu, dataset, seed, caps, json },
    iterations: iterationsOfCall(raw),
    experiment: experimentOfCall(raw, networkName(raw.model), caps),
  }
}

function experimentOfCall(raw: RawOptions, model: string, caps: CapSchedule): Omit<Experiment, 'board'> {
  const tenants = tenantsOfCall(raw, model)
  return {
    algorithm: raw.algorithm,
    model,
    capsW: caps.map(({ powerCapW }) => powerCapW),
    powerMarginW: raw.powerMargin,
    ...given({ memClockMhz: raw.memClock }),
    sharePercentStep: raw.mpsStep,
    shadow: raw.enableShadow ?? false,
    hardwareLimit: raw.hardwareLimit,
    sensorTolerancePercent: raw.sensorTolerance,
    ...(raw.params === undefined ? {} : { parametersFolder: path.resolve(raw.params) }),
    ...(tenants ? { tenants } : {}),
  }
}

function capsOfCall({ powerCap, powerSchedule, capSchedule }: RawOptions): CapSchedule {
  const given = [powerCap, powerSchedule, capSchedule].filter((option) => option !== undefined)
  if (given.length !== 1) {
    throw new UsageError('give exactly one of --power-cap, --power-schedule and --cap-schedule')
  }
  if (powerCap !== undefined) return fixedCap(powerCap)
  if (capSchedule !== undefined) return readCapSchedule(capSchedule)
  return capsByIteration(publishedSchedules[powerSchedule!])
}

function iterationsOfCall({ iterations, duration, powerSchedule }: RawOptions): number {
  if (iterations !== undefined && duration !== undefined) {
    throw new UsageError('--iterations and --duration say the same; give one of them')
  }
  if (duration !== undefined) return Math.ceil((duration * 1000) / WINDOW_MS)
  return iterations ?? (powerSchedule === undefined ? DEFAULT_ITERATIONS : SCHEDULED_ITERATIONS)
}

function tenantsOfCall({ shares, batches: given, algorithm }: RawOptions, model: string): Tenant[] | undefined {
  if (shares === undefined) {
    if (given !== undefined) throw new UsageError('--batches needs --shares')
    return undefined
  }
  if (!['pctodl', 'directcap', 'directcap-published'].includes(algorithm)) {
    throw new UsageError('--shares: only pctodl and directcap take tenants that are given')
  }
  const batches = given ?? [32]
  if (batches.length !== 1 && batches.length !== shares.length) {
    throw new UsageError(`--batches: ${batches.length} sizes for ${shares.length} shares; give one or as many`)
  }
  const tenants = shares.map((mpsPercent, i) => ({ model, mpsPercent, batchSize: batches[i] ?? batches[0]! }))
  assertTenants(tenants)
  return tenants
}
