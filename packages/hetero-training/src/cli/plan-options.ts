import {
  asUsage,
  integerFrom,
  newCommand,
  numberBetween,
  oneOf,
  parseCommand,
  positiveNumber,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import { type Command, InvalidArgumentError } from 'commander'
import { version } from '../../package.json'
import { type CurveKind, curveKinds } from '../curves/setting-lines.js'
import type { Budgets } from '../find-plan.js'
import { type ReadProfileOptions, readProfile } from '../profile/read-profile.js'
import { PUBLISHED_BATCH, type PublishedMethod, publishedMethods } from '../published/published-search.js'
import type { TrainingJob } from '../training-job.js'
import { type Named, named } from './named-option.js'
import { refuseGiven } from './refuse-given.js'

/** `traces.csv#t4` is the GPU t4 of that file. */
const CSV_TRACE = /^(.*\.csv)(?:#(.+))?$/

/** What one call of `pctodl-hetero` asks for, checked. */
export interface PlanCall {
  readonly job: TrainingJob
  readonly budgets: Budgets
  /** A published search in the place of ours. */
  readonly published: PublishedMethod | null
  /** Samples in the data set, for what an epoch takes. */
  readonly datasetSize: number | null
  /** Where the picture of the front goes. */
  readonly paretoFile: string | null
  readonly json: boolean
}

interface RawOptions {
  readonly gpu?: Named<string>
  readonly gpu1: string
  readonly gpu2: string
  readonly trace1?: string
  readonly trace2?: string
  readonly batch: number
  readonly eta: number
  readonly method: 'synchronous' | PublishedMethod
  readonly curves: CurveKind
  readonly budgetTime?: number
  readonly budgetEnergy?: number
  readonly budgetPower?: number
  readonly idlePower?: Named<number>
  readonly maxShare?: Named<number>
  readonly microBatch?: Named<number>
  readonly limits?: Named<number[]>
  readonly smClocks?: Named<number[]>
  readonly allReduce: number
  readonly profiledOnly?: boolean
  readonly useAll?: boolean
  readonly datasetSize?: number
  readonly dataset?: string
  readonly network?: string
  readonly optimizer?: string
  readonly pareto?: string
  readonly json?: boolean
}

/** @throws UsageError for anything that a user could have typed wrong, unreadable traces included */
export async function parsePlanOptions(argv: readonly string[], terminal: Terminal): Promise<PlanCall> {
  const command = newCommand(
    {
      name: 'pctodl-hetero',
      version,
      description:
        'Split a global batch over unequal GPUs and choose their power limits for least energy, time or a weighted cost.\n' +
        'Further commands: pctodl-hetero batch, replan, collect, launch, compare.',
      example:
        'pctodl-hetero --gpu a10=a10.json --gpu t4=t4.json --idle-power a10=20 --idle-power t4=15 --batch 2048 --eta 0.5',
    },
    terminal,
  )
  withPlanOptions(command)
  await parseCommand(command, argv)
  return planCallOf(command)
}

/** What every command that plans may be told. */
export function withPlanOptions(command: Command): Command {
  return command
    .option('--gpu <name=trace>', 'a GPU and its trace (JSON, CSV, CSV#GPU for one of several); repeat it', named(text))
    .option('--gpu1 <name>', 'published option: name of the first GPU', 'gpu1')
    .option('--gpu2 <name>', 'published option: name of the second GPU', 'gpu2')
    .option('--trace1 <file>', 'published option: trace of the first GPU')
    .option('--trace2 <file>', 'published option: trace of the second GPU')
    .option('--batch <samples>', 'global batch', integerFrom(1, 2 ** 20), PUBLISHED_BATCH)
    .option('--eta <weight>', 'weight of energy against time, 0..1', numberBetween(0, 1), 0.5)
    .option(
      '--method <name>',
      'synchronous, or one of the published searches: bruteForce, heuristic, baseline',
      oneOf('synchronous', ...publishedMethods),
      'synchronous' as const,
    )
    .option(
      '--curves <kind>',
      'physical (monotone) or measured (noise included)',
      oneOf(...curveKinds),
      'physical' as const,
    )
    .option(
      '--budget-time <s>',
      'most time of a step (of a window, where traces count in windows)',
      positiveNumber('s'),
    )
    .option('--budget-energy <J>', 'most energy of a step (window)', positiveNumber('J'))
    .option('--budget-power <W>', 'most that the power limits may add up to', positiveNumber('W'))
    .option('--idle-power <name=W>', 'what a GPU draws while it waits; repeat it', named(numberBetween(0, 1e4)))
    .option('--max-share <name=samples>', 'most samples of a step for a GPU; repeat it', named(integerFrom(1)))
    .option(
      '--micro-batch <name=samples>',
      'most samples that the memory of a GPU holds at once: larger shares are accumulated; repeat it',
      named(integerFrom(1)),
    )
    .option('--limits <name=W,W>', 'power limits that may be set (default: all of the trace); repeat it', named(watts))
    .option(
      '--sm-clocks <name=MHz,MHz>',
      'SM clocks that may be locked, or none (default: all of the trace); repeat it',
      named(clocks),
    )
    .option('--all-reduce <s>', 'gradient exchange after each step', numberBetween(0, 1e6), 0)
    .option('--profiled-only', 'only shares within the batch sizes of the trace')
    .option('--use-all', 'leave no GPU out')
    .option('--dataset-size <samples>', 'samples in the data set: prints what an epoch takes', integerFrom(1))
    .option('--dataset <name>', 'which data set, where a CSV has several')
    .option('--network <name>', 'which network, where a CSV has several')
    .option('--optimizer <name>', 'which optimizer, where a CSV has several')
    .option('--pareto <file>', 'draw the time-energy front as SVG; needs @pctodl/charts')
    .option('--json', 'print the plan as JSON on standard output')
}

/** @throws UsageError, as `parsePlanOptions` */
export function planCallOf(command: Command): PlanCall {
  const raw = command.opts<RawOptions>()
  refuseIgnored(command, raw)
  const traces = tracesOf(raw)
  for (const [option, values] of Object.entries({
    '--idle-power': raw.idlePower,
    '--max-share': raw.maxShare,
    '--micro-batch': raw.microBatch,
    '--limits': raw.limits,
    '--sm-clocks': raw.smClocks,
  })) {
    const unknown = [...(values?.keys() ?? [])].find((name) => !traces.has(name))
    if (unknown !== undefined) {
      throw new UsageError(`${option}: there is no GPU '${unknown}'; there are ${[...traces.keys()].join(', ')}`)
    }
  }
  if (raw.method !== 'synchronous') assertOnlyPublishedOptions(raw)
  return asUsage(() => ({
    job: jobOf(raw, traces),
    budgets: {
      ...(raw.budgetTime === undefined ? {} : { timeS: raw.budgetTime }),
      ...(raw.budgetEnergy === undefined ? {} : { energyJ: raw.budgetEnergy }),
      ...(raw.budgetPower === undefined ? {} : { powerW: raw.budgetPower }),
    },
    published: raw.method === 'synchronous' ? null : raw.method,
    datasetSize: raw.datasetSize ?? null,
    paretoFile: raw.pareto ?? null,
    json: raw.json ?? false,
  }))
}

/** @throws UsageError for what would be ignored */
function refuseIgnored(command: Command, raw: RawOptions): void {
  const refuse = (name: 'gpu1' | 'gpu2' | 'dataset' | 'network' | 'optimizer', why: string) =>
    refuseGiven(command, [name], `got '${raw[name]}', but ${why}; leave it out`)
  if (raw.gpu !== undefined) for (const name of ['gpu1', 'gpu2'] as const) refuse(name, '--gpu names its GPUs')
  const traces = [...(raw.gpu?.values() ?? []), raw.trace1, raw.trace2]
  if (traces.some((trace) => trace !== undefined && CSV_TRACE.test(trace))) return
  for (const name of ['dataset', 'network', 'optimizer'] as const) {
    refuse(name, 'only a CSV has several, and no trace is one')
  }
}

function tracesOf({ gpu, gpu1, gpu2, trace1, trace2 }: RawOptions): Named<string> {
  if (gpu !== undefined) {
    if (trace1 !== undefined || trace2 !== undefined)
      throw new UsageError('--gpu and --trace1, --trace2: give one kind')
    return gpu
  }
  if (trace1 === undefined || trace2 === undefined) {
    throw new UsageError('no traces; give --gpu NAME=TRACE for each GPU, or --trace1 and --trace2')
  }
  if (gpu1 === gpu2) throw new UsageError(`--gpu1 and --gpu2: both are '${gpu1}'`)
  return new Map([
    [gpu1, trace1],
    [gpu2, trace2],
  ])
}

function jobOf(raw: RawOptions, traces: Named<string>): TrainingJob {
  const gpus = [...traces].map(([name, trace]) => {
    const idlePowerW = raw.idlePower?.get(name)
    const maxShare = raw.maxShare?.get(name)
    const maxMicroBatch = raw.microBatch?.get(name)
    const powerLimitsW = raw.limits?.get(name)
    const smClocksMhz = raw.smClocks?.get(name)
    return {
      profile: readTrace(trace, {
        name,
        ...(idlePowerW === undefined ? {} : { idlePowerW }),
        ...(raw.dataset === undefined ? {} : { dataset: raw.dataset }),
        ...(raw.network === undefined ? {} : { network: raw.network }),
        ...(raw.optimizer === undefined ? {} : { optimizer: raw.optimizer }),
        ...(raw.datasetSize === undefined ? {} : { datasetSize: raw.datasetSize }),
      }),
      ...(maxShare === undefined ? {} : { maxShare }),
      ...(maxMicroBatch === undefined ? {} : { maxMicroBatch }),
      ...(powerLimitsW === undefined ? {} : { powerLimitsW }),
      ...(smClocksMhz === undefined ? {} : { smClocksMhz }),
    }
  })
  return {
    gpus,
    globalBatch: raw.batch,
    eta: raw.eta,
    allReduceS: raw.allReduce,
    curves: raw.curves,
    profiledRangeOnly: raw.profiledOnly ?? false,
    mayLeaveOut: !raw.useAll,
  }
}

function readTrace(trace: string, options: ReadProfileOptions) {
  const [, file, gpu] = CSV_TRACE.exec(trace) ?? [undefined, trace, undefined]
  return readProfile(file!, { ...options, ...(gpu === undefined ? {} : { gpu }) })
}

function assertOnlyPublishedOptions(raw: RawOptions): void {
  const given = Object.entries({
    '--budget-time': raw.budgetTime,
    '--budget-energy': raw.budgetEnergy,
    '--budget-power': raw.budgetPower,
    '--max-share': raw.maxShare,
    '--micro-batch': raw.microBatch,
    '--limits': raw.limits,
    '--sm-clocks': raw.smClocks,
    '--profiled-only': raw.profiledOnly,
    '--use-all': raw.useAll,
    '--pareto': raw.pareto,
  }).filter(([, value]) => value !== undefined)
  if (given.length > 0) {
    throw new UsageError(
      `--method ${raw.method}: the published searches know no ${given.map(([name]) => name).join(', ')}`,
    )
  }
}

const text = (value: string) => value

const clocks = (list: string) => (list === 'none' ? [] : positive(list, 'MHz'))
const watts = (list: string) => positive(list, 'watts')

function positive(list: string, what: string): number[] {
  const values = list.split(',').map(Number)
  if (!values.every((value) => value > 0 && Number.isFinite(value))) {
    throw new InvalidArgumentError(`not ${what} separated by commas.`)
  }
  return values
}
