import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { ImpossibleJobError } from '../errors.js'
import type { AllocationWeight } from '../optimal/allocation-problem.js'
import type { Job } from '../trace/job.js'
import { assertGpuProfile, assertOneSharedLimit, type GpuProfile } from './gpu-profile.js'
import { expandMixedServers, idleWattsOf, type MixedServerKind } from './mixed-cluster.js'
import { type SeatOption, seatOptions } from './seat-option.js'

/** Who comes first: by arrival, or least work left (on the fastest GPU). */
export const budgetPolicyNames = ['fifo', 'srtf'] as const
export type BudgetPolicyName = (typeof budgetPolicyNames)[number]

/** How the watts become power limits: by what each job gains from them, or as many for each GPU of the cluster. */
export const wattRules = ['gain', 'equal'] as const
export type WattRule = (typeof wattRules)[number]

/** Everything that a `BudgetEngine` is told once. */
export interface BudgetEngineOptions {
  readonly servers: readonly MixedServerKind[]
  readonly profiles: readonly GpuProfile[]
  /** Of all GPUs together, W, until an event `budget` says otherwise. */
  readonly powerBudgetW: number
  readonly policy: BudgetPolicyName
  /** Whether throughput counts once for each job, or once for each of its GPUs. Default `job`. */
  readonly weight?: AllocationWeight
  /** Default `gain`. */
  readonly watts?: WattRule
  /** The only type of GPU for a job; default: any that its model is profiled on. */
  readonly typeOf?: (job: Job) => string
  /** While jobs wait, the policy decides anew who runs every so many seconds. Default 300. */
  readonly roundS?: number
  /** Seconds without progress when a job starts for the first time. Default 0. */
  readonly startCostS?: number
  /** The same whenever it goes on after it was stopped. Default 0. */
  readonly restartCostS?: number
  /**
   * A job that has waited so long in all goes before all others from then on, whatever the policy; of several the first to arrive. It finds its
   * room at the next round. Default 3 600 000 s.
   */
  readonly starvationAfterS?: number
  /** A fall of the budget that is known is heeded so long before its time: as long as a job may take to leave. Default 0 s. */
  readonly budgetLeadS?: number
  /** Whether the power limit of a running job can be changed; else only who starts is given one. Default true. */
  readonly limitsChange?: boolean
}

/** What checked options are, with every default in its place. */
export interface CheckedBudgetOptions extends Required<Omit<BudgetEngineOptions, 'typeOf' | 'servers'>> {
  readonly typeOf: ((job: Job) => string) | null
  /** One by one. */
  readonly servers: readonly MixedServerKind[]
  readonly idleW: number
  readonly models: ReadonlyMap<string, ModelOptions>
}

/** Of one model: how it may be seated on each type, and its rate where it is fastest. */
export interface ModelOptions {
  readonly byType: ReadonlyMap<string, readonly SeatOption[]>
  readonly fastest: number
}

/** @throws InvalidInputError, UnknownNameError */
export function checkBudgetOptions(options: BudgetEngineOptions): CheckedBudgetOptions {
  const { profiles, powerBudgetW, policy, weight = 'job', watts = 'gain', typeOf = null } = options
  const servers = expandMixedServers(options.servers)
  if (!budgetPolicyNames.includes(policy)) throw new UnknownNameError('policy', policy, budgetPolicyNames)
  if (!wattRules.includes(watts)) throw new UnknownNameError('watts', watts, wattRules)
  if (weight !== 'job' && weight !== 'gpu') throw new UnknownNameError('weight', weight, ['job', 'gpu'])
  for (const profile of profiles) assertGpuProfile(profile)
  assertOneSharedLimit(profiles)
  const types = [...new Set(servers.map(({ gpuType }) => gpuType))]
  const models = new Map<string, ModelOptions>()
  for (const profile of profiles) {
    if (models.has(profile.model)) throw new InvalidInputError('profiles', profile.model, 'one profile for each model')
    const byType = new Map(types.map((type) => [type, seatOptions(profile, type)]))
    const rates = [...byType.values()].flat().flatMap(({ ways }) => ways.map(({ iterationsPerS }) => iterationsPerS))
    models.set(profile.model, { byType, fastest: Math.max(...rates) })
  }
  const idleW = idleWattsOf(servers)
  if (!(powerBudgetW >= idleW)) {
    throw new InvalidInputError('powerBudgetW', powerBudgetW, `at least ${idleW} W, which the GPUs draw without work`)
  }
  const roundS = above0('roundS', options.roundS ?? 300)
  return {
    ...{ servers, profiles, powerBudgetW, policy, weight, watts, typeOf, idleW, models, roundS },
    startCostS: atLeast('startCostS', options.startCostS ?? 0),
    restartCostS: atLeast('restartCostS', options.restartCostS ?? 0),
    starvationAfterS: above0('starvationAfterS', options.starvationAfterS ?? 1000 * 3600),
    budgetLeadS: atLeast('budgetLeadS', options.budgetLeadS ?? 0),
    limitsChange: options.limitsChange ?? true,
  }
}

/** How a job may be seated, type by type; types that it must not or cannot run on are left out. */
export function optionsOf(
  { models, typeOf }: CheckedBudgetOptions,
  job: Job,
): ReadonlyMap<string, readonly SeatOption[]> {
  const { byType } = models.get(job.model)!
  const only = typeOf?.(job)
  if (only !== undefined && !byType.has(only)) throw new UnknownNameError('GPU type', only, [...byType.keys()])
  return new Map(
    [...byType]
      .filter(([type]) => only === undefined || type === only)
      // A part of a GPU is for jobs of one.
      .map(([type, options]) => [type, options.filter(({ sharePercent }) => sharePercent === 100 || job.gpus === 1)]),
  )
}

/** Why no server could ever run a job, however many watts there are; undefined where one could. */
export function whyImpossible(options: CheckedBudgetOptions, job: Job): ImpossibleJobError | undefined {
  const byType = optionsOf(options, job)
  const could = options.servers.some(({ gpuType, gpus, cpus, memoryGb }) =>
    byType
      .get(gpuType)
      ?.some((seat) => job.gpus <= gpus && job.gpus * seat.cpus <= cpus && job.gpus * seat.memoryGb <= memoryGb),
  )
  if (could) return undefined
  const why = `no server has ${job.gpus} GPUs of a type that ${job.model} may run on, with the CPU and memory it needs`
  return new ImpossibleJobError(job.id, why, 'profile it on other types, or skip such jobs (skipImpossible)')
}

function atLeast(field: string, value: number): number {
  if (!(value >= 0 && Number.isFinite(value))) throw new InvalidInputError(field, value, 'seconds of at least 0')
  return value
}

function above0(field: string, value: number): number {
  if (!(value > 0 && Number.isFinite(value))) throw new InvalidInputError(field, value, 'seconds above 0')
  return value
}
