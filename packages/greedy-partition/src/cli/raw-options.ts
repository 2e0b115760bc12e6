import { given } from '@pctodl/command-line'
import type { NetworkDemand, PartitionObjective } from '../options.js'
import type { SearchOptions } from '../search-options.js'
import type { ServiceGoal } from '../services/plan-options.js'

/** Options as the command line gives them. */
export interface RawOptions {
  readonly model?: NetworkDemand[]
  readonly services?: string
  readonly gpu: string
  readonly params?: string
  readonly objective?: ServiceGoal | PartitionObjective
  readonly powerCap: number
  readonly powerMargin: number
  readonly risk?: number
  readonly mpsStep: number
  readonly memClock?: number
  readonly latencySlo?: number
  readonly latencyPercentile: 'mean' | 'p99'
  readonly minThroughput?: number
  readonly maxTenants?: number
  readonly maxShare?: number
  readonly maxDistance?: number
  readonly maxBatch?: number
  readonly memoryMib?: number
  readonly rateMargin?: number
  readonly latencyMargin?: number
  readonly burstiness?: number
  readonly seed: number
  readonly budgetMs?: number
  readonly budgetEvaluations?: number
  readonly explain?: boolean
  readonly json?: boolean
}

/** Options of plans for tenants and of plans for services. */
export function commonOptions(raw: RawOptions): SearchOptions {
  return {
    powerCapW: raw.powerCap,
    powerMarginW: raw.powerMargin,
    sharePercentStep: raw.mpsStep,
    seed: raw.seed,
    ...given({
      memClocksMhz: raw.memClock === undefined ? undefined : [raw.memClock],
      maxTenants: raw.maxTenants,
      memoryBytes: raw.memoryMib === undefined ? undefined : raw.memoryMib * 1024 ** 2,
    }),
  }
}
