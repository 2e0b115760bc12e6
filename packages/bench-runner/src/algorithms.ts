import {
  BatchDvfsOriginalPolicy,
  BatchDvfsPolicy,
  batchDvfsFigures,
  DirectCapPolicy,
  equalTenants,
  FeedbackClock,
  LimitPolicy,
  MeasuredPolicy,
  MorakPolicy,
  morakFigures,
  PowerCapOnlyPolicy,
  standardBatchLadder,
} from '@pctodl/baselines'
import { findOracle } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { MAX_BATCH_SIZE, type Predictor } from '@pctodl/perf-model'
import { type GpuSpec, PctodlError, smClocksAt, snapDown, type Tenant, UnknownNameError } from '@pctodl/platform'
import { matrixAlgorithms, notCompeting } from '@pctodl/report'
import type { NotedPolicy } from '@pctodl/run'
import {
  type ClockPlan,
  commonLoad,
  commonLoadPredictor,
  PctodlPolicy,
  planClocks,
  planPartition,
  type WindowObservation,
} from '@pctodl/scheduler'
import { latencyObjectives } from './latency-objective.js'
import { predictorOf } from './predictors.js'
import { serverPolicyNames } from './services/service-policies.js'
import { type BenchTask, boardName, capsWOf, isServed, networksOf, type Task } from './tasks.js'

/** All algorithms, in the order in which they run and are reported. */
export const everyAlgorithm: typeof matrixAlgorithms = matrixAlgorithms

export type AlgorithmName = (typeof everyAlgorithm)[number]

/** Baselines exactly as published: they choose no memory clock, start from no plan, and set no power limit. */
const byTheirOwnRules: readonly AlgorithmName[] = ['morak', 'batchdvfs', 'batchdvfs-original', 'directcap', 'powercap']

/** Algorithms for service tasks. `oracle` searches offline, with the same arrivals on the same simulated board. */
const ofServices: readonly AlgorithmName[] = [...serverPolicyNames, 'oracle']

/** Algorithms for tasks without services. */
export const algorithmNames: readonly AlgorithmName[] = everyAlgorithm.filter(
  (name) => !ofServices.includes(name) || ['pctodl', 'plan-limit-step'].includes(name),
)

/** Algorithms that are defined for one network only. */
const ofOneNetwork: readonly AlgorithmName[] = [
  'morak',
  'morak-tuned',
  'batchdvfs',
  'batchdvfs-tuned',
  'batchdvfs-original',
]

/**
 * Names for groups of algorithms. Of a group, each task runs the algorithms that support it. `tuned` contains pctodl
 * and its opponents: our plan without our control, other configurations with and without feedback, and the published
 * algorithms with every setting that pctodl has.
 */
export const algorithmGroups: Readonly<Record<'tuned' | 'all', readonly AlgorithmName[]>> = {
  tuned: everyAlgorithm.filter((name) => !byTheirOwnRules.includes(name) && !notCompeting.includes(name)),
  all: everyAlgorithm.filter((name) => !notCompeting.includes(name)),
}

/** Whether an algorithm supports a task. */
export function knowsTask(name: AlgorithmName, task: Task): boolean {
  if (isServed(task)) return ofServices.includes(name)
  if (!algorithmNames.includes(name)) return false
  return task.mix === undefined || (!ofOneNetwork.includes(name) && !notCompeting.includes(name))
}

export interface PolicyOptions {
  /** Plans stay this far below the cap, W. Default 0. */
  readonly powerMarginW?: number
  /**
   * Whether pctodl keeps looking for better tenants while it runs. Default false, as in the published runs of the
   * matrix.
   */
  readonly shadow?: boolean
  /** Predictor parameters. Default: the shipped ones. */
  readonly parametersFolder?: string
  /** Number of the simulated board in the ensemble; only `static-best` may use it. Default: the shipped board. */
  readonly variant?: number
}

export interface Served {
  /**
   * Predictor whose total throughput is the task's score: samples/s or, for a mix, the load that all networks serve
   * together.
   */
  readonly predictor: Predictor
  /** With their latency objectives. */
  readonly models: readonly { readonly model: string; readonly latencySloMs?: number }[]
  readonly latencyMs: (model: string) => number | undefined
  /** Further options of a plan; empty if the task has no latency objective. */
  readonly partition: { readonly latencyPercentile?: 'p99' }
}

const served = new Map<string, Served>()

/**
 * Returns the networks of a task with their latency objectives, and a predictor of the task's score. Equal tasks get
 * the same object, because plans are cached by predictor.
 */
export function servedBy(task: BenchTask, parametersFolder?: string): Served {
  const key = JSON.stringify([task, parametersFolder])
  let known = served.get(key)
  if (!known) {
    const ofBoard = predictorOf(task.board, parametersFolder)
    const objectives = latencyObjectives(task)
    known = {
      predictor: task.mix ? commonLoadPredictor(ofBoard, task.mix) : ofBoard,
      models: networksOf(task).map((model) => ({ model, ...(objectives && { latencySloMs: objectives[model]! }) })),
      latencyMs: (model) => objectives?.[model],
      partition: objectives ? { latencyPercentile: 'p99' } : {},
    }
    served.set(key, known)
  }
  return known
}

/**
 * Creates a policy for one run of one task. Policies that plan keep the cap and the task's latency objective, if it has
 * one; the others halve batches that take too long.
 */
export function createPolicy(name: AlgorithmName, task: BenchTask, options: PolicyOptions = {}): NotedPolicy {
  const { predictor, models, latencyMs, partition } = servedBy(task, options.parametersFolder)
  const { spec } = predictor
  const { powerMarginW = 0, shadow = false } = options
  const names = models.map(({ model }) => model)
  const model = names[0]!
  const limited = partition.latencyPercentile !== undefined
  const baseline = {
    spec,
    model,
    variant: name.endsWith('-tuned') ? ('tuned' as const) : ('fair' as const),
    planClocks: (tenants: readonly Tenant[], powerCapW: number, memClocksMhz?: readonly number[]) =>
      planClocks(predictor, tenants, powerCapW - powerMarginW, memClocksMhz),
  }
  const plan = (powerCapW: number) => planPartition(predictor, { ...partition, models, powerCapW, powerMarginW })
  const lowestCapW = Math.min(...capsWOf(task))
  /** Predicted throughput of tenants, samples/s; 0 if they miss the latency objective. */
  const throughputInTime = (tenants: readonly Tenant[], clocks: ClockPlan) => {
    const predicted = predictor.predict({ tenants, ...clocks })
    const inTime = predicted.tenants.every(
      ({ p99LatencyMs, latencyMs: ms }, i) => (p99LatencyMs ?? ms) <= (latencyMs(tenants[i]!.model) ?? Infinity),
    )
    return inTime ? predicted.throughput : 0
  }
  // Untuned baselines know what a benchmark without a cap shows; tuned ones know the plan for the lowest cap.
  const clocksFor = (tenants: readonly Tenant[]) =>
    baseline.variant === 'tuned' ? baseline.planClocks(tenants, lowestCapW) : ownClocks(predictor)
  const withinLatency = (ladder: readonly number[], sharesPercent: readonly number[]) => {
    if (!limited) return ladder
    const fitting = ladder.filter((batchSize) => {
      if (batchSize > MAX_BATCH_SIZE) return false
      const tenants = sharesPercent.map((mpsPercent) => ({ model, mpsPercent, batchSize }))
      return throughputInTime(tenants, clocksFor(tenants)) > 0
    })
    return fitting.length > 0 ? fitting : ladder.slice(0, 1)
  }
  const limit = { name, spec, planClocks: baseline.planClocks, ...(limited ? { latencyMs } : {}) }
  const feedback = { clock: new FeedbackClock({ step: true }) }
  const holding = (tenants: readonly Tenant[]) => ({
    plan: (powerCapW: number) => ({ tenants, ...baseline.planClocks(tenants, powerCapW) }),
  })
  const predictedThroughput = (tenants: readonly Tenant[]) =>
    throughputInTime(tenants, baseline.planClocks(tenants, lowestCapW))
  const best = (candidates: readonly (readonly Tenant[])[]) =>
    candidates.reduce((most, each) => (predictedThroughput(each) > predictedThroughput(most) ? each : most))
  const batches = standardBatchLadder.filter((batchSize) => batchSize <= MAX_BATCH_SIZE)
  if (!knowsTask(name, task)) {
    throw new PctodlError('UNKNOWN_NETWORKS', `${name} serves one network, and task ${task.id} has ${names.join(', ')}`)
  }
  switch (name) {
    case 'pctodl':
      return new PctodlPolicy({ predictor, models, partition, powerMarginW, shadow: shadow && {} })
    case 'morak':
    case 'morak-tuned': {
      const published = morakFigures(model, baseline.variant)
      const counts = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((count) =>
        withinLatency(batches, Array(count).fill(100 / count)).map((batchSize) =>
          equalTenants(spec, names, count, batchSize),
        ),
      )
      const sharesPercent = best(counts).map(({ mpsPercent }) => mpsPercent)
      const figures = name === 'morak' ? published : { ...published, sharesPercent }
      if (!limited) return new MorakPolicy({ ...baseline, figures })
      const startBatch = withinLatency(figures.batchLadder, figures.sharesPercent).at(-1)!
      return new MorakPolicy({ ...baseline, figures: { ...figures, sloMs: latencyMs(model)! }, startBatch })
    }
    case 'batchdvfs':
    case 'batchdvfs-tuned': {
      const figures = batchDvfsFigures(model)
      const batchLadder = withinLatency(figures.batchLadder, [100])
      return new BatchDvfsPolicy({ ...baseline, figures: { ...figures, batchLadder } })
    }
    case 'batchdvfs-original':
      return new BatchDvfsOriginalPolicy({
        spec,
        model,
        ...(limited ? { batchLadder: withinLatency(batchDvfsFigures(model).batchLadder, [100]) } : {}),
      })
    case 'directcap':
      return new DirectCapPolicy({ spec, model, plan })
    case 'powercap':
      return new PowerCapOnlyPolicy({ spec, model: names, ...(limited ? { latencyMs } : {}) })
    case 'powercap-tuned':
      return new LimitPolicy({
        ...limit,
        ...holding(best(batches.map((batchSize) => equalTenants(spec, names, names.length, batchSize)))),
      })
    case 'plan-limit':
      return new LimitPolicy({ ...limit, plan })
    case 'plan-limit-step':
      return new LimitPolicy({ ...limit, ...feedback, plan })
    case 'equal-split':
      return new LimitPolicy({ ...limit, ...holding(equalTenants(spec, names)) })
    case 'equal-split-step':
      return new LimitPolicy({ ...limit, ...feedback, ...holding(equalTenants(spec, names)) })
    case 'measured-60s':
      return new MeasuredPolicy({ ...limit, candidates: randomCandidates(spec, names), score: scoreOf(task) })
    case 'static-best':
      return new LimitPolicy({
        ...limit,
        clock: new FeedbackClock({ underLimit: 'planned' }),
        plan: (powerCapW) => findOracle(boardName({ task, ...options }), model, powerCapW).configuration,
      })
    default:
      throw new PctodlError('UNKNOWN_TASK', `${name} serves requests, and task ${task.id} has none`)
  }
}

/** Number of random candidates, more than can be measured in one minute. */
const CANDIDATES = 12

function randomCandidates(spec: GpuSpec, models: readonly string[]): readonly (readonly Tenant[])[] {
  const random = new SeededRandom(seedFrom(1, ...models))
  return Array.from({ length: CANDIDATES }, () =>
    equalTenants(
      spec,
      models,
      models.length * (1 + random.integer(Math.ceil(8 / models.length))),
      8 << random.integer(5),
    ),
  )
}

/** Score of a window in a task: throughput, or the common load of a mix. */
function scoreOf({ mix }: BenchTask): (window: WindowObservation) => number {
  return ({ tenants, throughput }) =>
    mix
      ? commonLoad(
          tenants.map(({ tenant }) => tenant),
          (i) => tenants[i]!.throughput ?? 0,
          mix,
        )
      : throughput
}

/** Default clocks of a board: the highest memory clock and the boost clock. */
function ownClocks({ memClocksMhz, spec }: Predictor) {
  const memClockMhz = Math.max(...memClocksMhz)
  return { memClockMhz, smClockMhz: snapDown(smClocksAt(spec, memClockMhz)!, spec.boostClockMhz)! }
}

/**
 * Parse one name, a comma-separated list, or a group's name; order is kept, duplicates are dropped.
 *
 * @throws UnknownNameError listing the algorithms that exist
 */
export function parseAlgorithms(text: string): AlgorithmName[] {
  const names = text.split(',').flatMap((part): readonly AlgorithmName[] => {
    const name = part.trim()
    if (name === 'tuned' || name === 'all') return algorithmGroups[name]
    const found = everyAlgorithm.find((candidate) => candidate === name)
    if (!found) throw new UnknownNameError('algorithm', name, [...everyAlgorithm, ...Object.keys(algorithmGroups)])
    return [found]
  })
  return [...new Set(names)]
}
