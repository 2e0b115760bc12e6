import type { NetworkDemand, PartitionOptions } from '@pctodl/greedy-partition'
import type { Predictor } from '@pctodl/perf-model'
import { type Configuration, InfeasibleCapError, PctodlError } from '@pctodl/platform'
import { planPartition, type ServedNetworks, servedNetworks } from '../plan-partition.js'
import { LatencyWatch } from './latency-watch.js'

interface PlannerOptions extends ServedNetworks {
  readonly predictor: Predictor
  readonly powerMarginW?: number
  readonly partition?: Omit<PartitionOptions, 'models' | 'powerCapW' | 'powerMarginW'>
}

/** Evaluation budget of a plan that is made while tenants run; the search takes some tens of milliseconds. */
const REPLAN_EVALUATIONS = 1000
const USUAL_EVALUATIONS = 4000
/**
 * Plans may use the share `KEPT_MEMORY_SHARE` of the board's memory, minus these bytes for the driver and the MPS
 * server.
 */
const KEPT_BYTES = 384 * 1024 ** 2
const KEPT_MEMORY_SHARE = 0.98
/** After tenants ran out of memory, the next plan may use this share of the memory that the last one could use. */
const LESS_MEMORY = 0.9

/** Why there is no plan. */
interface NoPlan {
  readonly message: string
  /** Lowest feasible cap in predicted watts; null if the plan failed for another reason than the cap. */
  readonly lowestFeasibleW: number | null
}

/**
 * Makes the plans of one policy. It limits them to the memory and the latencies that have proved possible on this
 * board.
 */
export class Planner {
  readonly #options: PlannerOptions
  readonly #models: string | readonly NetworkDemand[]
  readonly latency: LatencyWatch
  #memoryBytes: number

  /** @throws InvalidInputError if both or neither of `model` and `models` are given */
  constructor(options: PlannerOptions) {
    this.#options = options
    this.#models = servedNetworks(options)
    this.latency = new LatencyWatch((model) => this.#objectiveMs(model))
    const { partition, predictor } = options
    this.#memoryBytes = partition?.memoryBytes ?? KEPT_MEMORY_SHARE * predictor.spec.memoryBytes - KEPT_BYTES
  }

  /** Memory that plans may use, bytes. */
  get memoryBytes(): number {
    return this.#memoryBytes
  }

  /** Reduces the memory of the next plan, because tenants ran out of memory. */
  reduceMemory(): void {
    this.#memoryBytes *= LESS_MEMORY
  }

  /** @throws InfeasibleCapError, PctodlError `INFEASIBLE_PLAN` */
  plan(powerCapW: number): Configuration {
    return this.#within(powerCapW, Number.POSITIVE_INFINITY)
  }

  /** Makes a plan while tenants run, with a bounded search. Returns the reason if there is no plan. */
  replan(powerCapW: number): Configuration | NoPlan {
    try {
      return this.#within(powerCapW, REPLAN_EVALUATIONS)
    } catch (error) {
      if (error instanceof InfeasibleCapError) return { message: error.message, lowestFeasibleW: error.lowestFeasibleW }
      if (!(error instanceof PctodlError && error.code === 'INFEASIBLE_PLAN')) throw error
      return { message: error.message, lowestFeasibleW: null }
    }
  }

  #within(powerCapW: number, maxEvaluations: number): Configuration {
    const { predictor, powerMarginW = 0, partition: options } = this.#options
    const budgetEvaluations = Math.min(options?.budgetEvaluations ?? USUAL_EVALUATIONS, maxEvaluations)
    const memoryBytes = this.#memoryBytes
    const models = this.#demands
    return planPartition(predictor, { ...options, models, powerCapW, powerMarginW, memoryBytes, budgetEvaluations })
  }

  #objectiveMs(name: string): number {
    const own = typeof this.#models === 'string' ? undefined : this.#models.find(({ model }) => model === name)
    return own?.latencySloMs ?? this.#options.partition?.latencySloMs ?? Number.POSITIVE_INFINITY
  }

  /** The networks, with the reduced objectives that plans are made for. */
  get #demands(): string | readonly NetworkDemand[] {
    const { scale } = this.latency
    if (scale === 1) return this.#models
    const models = typeof this.#models === 'string' ? [{ model: this.#models }] : this.#models
    return models.map((demand) => ({ ...demand, latencySloMs: scale * this.#objectiveMs(demand.model) }))
  }
}
