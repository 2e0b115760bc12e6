import {
  asUsage,
  given,
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
import { findGpuSpec, type GpuSpec } from '@pctodl/platform'
import { InvalidArgumentError } from 'commander'
import { version } from '../../package.json'
import type { NetworkDemand, PartitionOptions } from '../options.js'
import { commonOptions, type RawOptions } from './raw-options.js'
import { knownName } from './services-file.js'
import { type ServicesCall, serviceGoals, servicesCall } from './services-options.js'

/** Checked options of one command call. */
export interface PartitionCall {
  readonly spec: GpuSpec
  readonly networks: readonly NetworkDemand[]
  /** Options of a plan for services; undefined for a partition. */
  readonly services: ServicesCall | undefined
  readonly search: Omit<PartitionOptions, 'models'>
  /** Folder of parameters; undefined for the shipped model. */
  readonly paramsFolder: string | undefined
  readonly explain: boolean
  readonly json: boolean
}

/** Time limit of a search for which the user gives no limit, ms. */
const DEFAULT_BUDGET_MS = 50
const DEFAULT_RISK = 0.05

const objectives = ['throughput', 'few-processes'] as const

const referenceSpelling: OptionAliases = {
  '--platform': '--gpu',
  '--p_cap': '--power-cap',
  '--mps_step': '--mps-step',
  '--mem-freq': '--mem-clock',
}

/** @throws UsageError for any invalid option */
export async function parseOptions(argv: readonly string[], terminal: Terminal): Promise<PartitionCall> {
  const command = newCommand(
    {
      name: 'pctodl partition',
      version,
      description: 'Find the MPS shares, batch sizes and clocks with the highest throughput under a power cap.',
      example: 'pctodl partition --model resnet50 --gpu 3080Ti --power-cap 200 --latency-slo 400 --explain',
    },
    terminal,
  )
    .option(
      '--model <networks>',
      'a network, or several that share the board: resnet50,vgg19=1.5 (weights); required unless --services is given',
      listOf(parseDemand),
    )
    .requiredOption('--gpu <name>', 'board, such as 3080Ti or A100')
    .option('--power-cap <watts>', 'power cap', positiveNumber('watts'), 150)
    .option('--mps-step <percent>', 'step of the shares', integerFrom(1, 100), 5)
    .option('--mem-clock <MHz>', 'memory clock (default: the best)', positiveNumber('MHz'))
    .option('--params <folder>', 'parameters: <board>.json as pctodl fit writes (default: shipped)')
    .option('--power-margin <watts>', 'margin below the cap', numberBetween(0, 1e4), 0)
    .option(
      '--risk <probability>',
      'highest probability of exceeding the cap minus the margin (default: 0.05; none with --objective throughput)',
      numberBetween(1e-9, 0.5),
    )
    .option('--latency-slo <ms>', 'highest batch latency of any tenant', positiveNumber('ms'))
    .option('--latency-percentile <which>', 'latency that the SLO limits: mean or p99', oneOf('mean', 'p99'), 'mean')
    .option('--min-throughput <samples/s>', 'lowest throughput of every tenant', positiveNumber())
    .option('--max-tenants <n>', 'largest number of tenants (default: the MPS limit)', integerFrom(1))
    .option('--max-share <percent>', 'largest share of a tenant', numberBetween(1, 100))
    .option('--max-batch <n>', 'largest batch of a tenant', integerFrom(1))
    .option(
      '--max-distance <distance>',
      'maximum distance of a plan from the fitted rows (default: 2)',
      numberBetween(1, 1e9),
    )
    .option('--memory-mib <MiB>', "device memory for all tenants (default: the board's)", positiveNumber('MiB'))
    .option(
      '--services <file>',
      'plan for request-driven services instead of saturated tenants: YAML or JSON, a list of { name, model, rate, p99Ms, weight, maxBatchSize, maxQueueDelayMs }',
    )
    .option(
      '--objective <what>',
      'few-processes (default: the fewest within 1 % of the highest throughput, at 5 % risk) or throughput (without a risk bound); ' +
        'with --services min-power (default), max-load (largest factor on all rates) or max-value (chooses what to shed)',
      oneOf(...objectives, ...serviceGoals),
    )
    .option('--rate-margin <factor>', 'with --services: factor on the rates to plan for', numberBetween(1, 10))
    .option(
      '--latency-margin <part>',
      'with --services: margin of each objective, as a fraction',
      numberBetween(0, 0.9),
    )
    .option(
      '--burstiness <ratio>',
      'with --services: variance over mean of request counts (default: 1, Poisson arrivals)',
      numberBetween(1, 1000),
    )
    .option('--seed <n>', 'seed of the order of search moves', integerFrom(0, 2 ** 32 - 1), 1)
    .option(
      '--budget-ms <ms>',
      `time for the search (default: ${DEFAULT_BUDGET_MS}; with --services no limit)`,
      positiveNumber('ms'),
    )
    .option(
      '--budget-evaluations <n>',
      'number of configurations to evaluate, instead of a time: the same plan on every machine (with --services: layouts, default 2000)',
      integerFrom(1),
    )
    .option('--explain', 'show the steps of the search as a table')
    .option('--json', 'print the result as JSON on standard output')
  await parseCommand(command, argv, referenceSpelling)
  const raw = command.opts<RawOptions>()
  const services = servicesCall(raw, (option) => command.getOptionValueSource(option) === 'cli')
  if (services === undefined && raw.model === undefined) {
    throw new UsageError('--model or --services: say what the board shall run')
  }
  return asUsage(() => ({
    spec: findGpuSpec(raw.gpu),
    networks: raw.model ?? [],
    services,
    search: searchOptions(raw),
    paramsFolder: raw.params,
    explain: raw.explain ?? false,
    json: raw.json ?? false,
  }))
}

function searchOptions(raw: RawOptions): PartitionCall['search'] {
  const objective = raw.objective === 'throughput' ? 'throughput' : 'few-processes'
  return {
    objective,
    latencyPercentile: raw.latencyPercentile,
    ...commonOptions(raw),
    ...searchBudget(raw),
    ...given({
      capExceedanceProbability: raw.risk ?? (objective === 'throughput' ? undefined : DEFAULT_RISK),
      latencySloMs: raw.latencySlo,
      minTenantThroughput: raw.minThroughput,
      maxSharePercent: raw.maxShare,
      maxDistance: raw.maxDistance,
      maxBatchSize: raw.maxBatch,
    }),
  }
}

/** Limit the search by time, unless the user gives only a number of evaluations. The plan is then reproducible. */
function searchBudget({ budgetMs, budgetEvaluations }: RawOptions): Partial<PartitionOptions> {
  if (budgetMs === undefined && budgetEvaluations !== undefined) return { budgetEvaluations }
  return {
    timeBudgetMs: budgetMs ?? DEFAULT_BUDGET_MS,
    now: () => performance.now(),
    budgetEvaluations: budgetEvaluations ?? Number.MAX_SAFE_INTEGER,
  }
}

/** Parse `resnet50` or `resnet50=1.5`. */
function parseDemand(text: string): NetworkDemand {
  const [name = '', weightText, ...more] = text.split('=')
  const weight = weightText === undefined ? 1 : Number(weightText)
  if (more.length > 0 || !(weight >= 1e-100 && weight <= 1e100)) {
    throw new InvalidArgumentError(`not a network with a weight from 1e-100 to 1e100: '${text}'.`)
  }
  return { model: knownName(name), weight }
}
