import { equalTenants } from '@pctodl/baselines'
import { findOracle } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { type GpuSpec, PctodlError, type Tenant, UnknownNameError } from '@pctodl/platform'
import { matrixAlgorithms, notCompeting } from '@pctodl/report'
import { type NotedPolicy, type PolicyName, policyNamed, policyNames, serverPolicyNames } from '@pctodl/run/policy'
import { commonLoad, type WindowObservation } from '@pctodl/scheduler'
import { servedBy } from './demands.js'
import { type BenchTask, boardName, capsWOf, isServed, type Task } from './tasks.js'

/** All algorithms, in the order in which they run and are reported. */
export const everyAlgorithm: typeof matrixAlgorithms = matrixAlgorithms

export type AlgorithmName = (typeof everyAlgorithm)[number]

/** Baselines exactly as published: they choose no memory clock, start from no plan, and set no power limit. */
const byTheirOwnRules: readonly AlgorithmName[] = ['morak', 'batchdvfs', 'batchdvfs-original', 'directcap', 'powercap']

/** Algorithms for service tasks. `oracle` searches offline, with the same arrivals on the same simulated board. */
const ofServices: readonly AlgorithmName[] = [...serverPolicyNames, 'oracle']

const isOfTenants = (name: AlgorithmName): name is AlgorithmName & PolicyName =>
  policyNames.some((policy) => policy === name)

/** Algorithms for tasks without services. */
export const algorithmNames: readonly AlgorithmName[] = everyAlgorithm.filter(isOfTenants)

/** Algorithms that are defined for one network only. */
const ofOneNetwork = (name: AlgorithmName) => /^(morak|batchdvfs)/.test(name)

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
  return isOfTenants(name) && (task.mix === undefined || (!ofOneNetwork(name) && !notCompeting.includes(name)))
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

/** Creates a policy for one run of one task. */
export function createPolicy(name: AlgorithmName, task: BenchTask, options: PolicyOptions = {}): NotedPolicy {
  const { parametersFolder, powerMarginW = 0, shadow = false } = options
  const served = servedBy(task, parametersFolder)
  const names = served.models.map(({ model }) => model)
  if (!isOfTenants(name)) {
    throw new PctodlError('UNKNOWN_TASK', `${name} serves requests, and task ${task.id} has none`)
  }
  if (!knowsTask(name, task)) {
    throw new PctodlError('UNKNOWN_NETWORKS', `${name} serves one network, and task ${task.id} has ${names.join(', ')}`)
  }
  return policyNamed(name, {
    ...served,
    capsW: capsWOf(task),
    powerMarginW,
    shadow,
    candidates: randomCandidates(served.predictor.spec, names),
    score: scoreOf(task),
    bestWithin: (powerCapW) => findOracle(boardName({ task, ...options }), names[0]!, powerCapW).configuration,
  })
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
