import { equalTenants } from '@pctodl/baselines'
import { findOracle } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { type GpuSpec, PctodlError, type Tenant, UnknownNameError } from '@pctodl/platform'
import { matrixAlgorithms, notCompeting } from '@pctodl/report'
import { type NotedPolicy, type PolicyName, policyNamed, policyNames, serverPolicyNames } from '@pctodl/run/policy'
import { commonLoad, type WindowObservation } from '@pctodl/scheduler'
import { servedBy } from './demands.js'
import { type BenchTask, boardName, capsWOf, isServed, type Task } from './tasks.js'

export type AlgorithmName = (typeof matrixAlgorithms)[number]

/** Baselines exactly as published: they choose no memory clock, start from no plan, and set no power limit. */
const byTheirOwnRules: readonly AlgorithmName[] = ['morak', 'batchdvfs', 'batchdvfs-original', 'directcap', 'powercap']

/** Algorithms for service tasks. `oracle` searches offline, with the same arrivals on the same simulated board. */
const ofServices: readonly AlgorithmName[] = [...serverPolicyNames, 'oracle']

const isOfTenants = (name: AlgorithmName): name is AlgorithmName & PolicyName =>
  policyNames.some((policy) => policy === name)

/** Algorithms for tasks without services. */
export const algorithmNames: readonly AlgorithmName[] = matrixAlgorithms.filter(isOfTenants)

/** Algorithms that are defined for one network only. */
const ofOneNetwork = (name: AlgorithmName) => /^(morak|batchdvfs)/.test(name)

/** Names for groups of algorithms. `tuned` contains pctodl and the opponents that use all settings of a board. */
export const algorithmGroups: Readonly<Record<'tuned' | 'all', readonly AlgorithmName[]>> = {
  tuned: matrixAlgorithms.filter((name) => !byTheirOwnRules.includes(name) && !notCompeting.includes(name)),
  all: matrixAlgorithms.filter((name) => !notCompeting.includes(name)),
}

/** Whether an algorithm supports a task. */
export function knowsTask(name: AlgorithmName, task: Task): boolean {
  if (isServed(task)) return ofServices.includes(name)
  return isOfTenants(name) && (task.mix === undefined || (!ofOneNetwork(name) && !notCompeting.includes(name)))
}

export interface PolicyOptions {
  /** Plans stay this far below the cap, W. Default 0. */
  readonly powerMarginW?: number
  /** Whether pctodl keeps looking for better tenants while it runs. Default false, as in the published runs. */
  readonly shadow?: boolean
  /** Folder of predictor parameters (`<board>.json`); absent for the shipped ones. */
  readonly parametersFolder?: string
  /** Number of the board in the simulated ensemble (`A100~v3`); absent for the shipped board. */
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
    score: (window) => scoreOf(task, window),
    bestWithin: (powerCapW) => findOracle(boardName({ task, ...options }), names[0]!, powerCapW).configuration,
  })
}

/** Twelve lists of tenants, more than `measured-60s` can measure in one minute. */
function randomCandidates(spec: GpuSpec, models: readonly string[]): readonly (readonly Tenant[])[] {
  const random = new SeededRandom(seedFrom(1, ...models))
  return Array.from({ length: 12 }, () =>
    equalTenants(
      spec,
      models,
      models.length * (1 + random.integer(Math.ceil(8 / models.length))),
      8 << random.integer(5),
    ),
  )
}

/**
 * Score of a window in a task: throughput or, in a mix, the throughput in the requested proportions. Additional
 * throughput of one network of a mix does not count.
 */
export function scoreOf({ mix }: BenchTask, { tenants, throughput }: ScoredWindow): number {
  if (!mix) return throughput
  const running = tenants.map(({ tenant }) => tenant)
  return commonLoad(running, (i) => tenants[i]!.throughput ?? 0, mix)
}

type ScoredWindow = Pick<WindowObservation, 'tenants' | 'throughput'>

/**
 * Parses one name, a comma-separated list, or the name of a group. Keeps the order and drops duplicates.
 *
 * @throws UnknownNameError with the known names
 */
export function parseAlgorithms(text: string): AlgorithmName[] {
  const names = text.split(',').flatMap((part): readonly AlgorithmName[] => {
    const name = part.trim()
    if (name === 'tuned' || name === 'all') return algorithmGroups[name]
    const found = matrixAlgorithms.find((candidate) => candidate === name)
    if (!found) throw new UnknownNameError('algorithm', name, [...matrixAlgorithms, ...Object.keys(algorithmGroups)])
    return [found]
  })
  return [...new Set(names)]
}
