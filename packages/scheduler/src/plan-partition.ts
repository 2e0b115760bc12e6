import { type NetworkDemand, type PartitionOptions, partition } from '@pctodl/greedy-partition'
import type { Predictor } from '@pctodl/perf-model'
import { type Configuration, InfeasibleCapError, InvalidInputError, PctodlError } from '@pctodl/platform'
import { remembered } from './remembered.js'

/** The networks to serve: one network by name, or a list with the demands on each. */
export interface ServedNetworks {
  /** Name of one network. */
  readonly model?: string | undefined
  /** One or several networks, instead of `model`. Each of several networks gets at least one tenant. */
  readonly models?: string | readonly NetworkDemand[] | undefined
}

/** The partitioner's options, with networks given as in a policy's options. */
export interface PlanOptions extends Omit<PartitionOptions, 'models'>, ServedNetworks {}

/** @throws InvalidInputError if both or neither of `model` and `models` are given */
export function servedNetworks({ model, models }: ServedNetworks): string | readonly NetworkDemand[] {
  const served = models ?? model
  if (served === undefined || (model !== undefined && models !== undefined)) {
    throw new InvalidInputError('models', models, 'the networks to serve, in one of model and models')
  }
  return served
}

/**
 * Returns the best configuration for one or several networks under a cap, or throws if there is none. A search with the
 * same options and predictor runs only once.
 *
 * @throws InfeasibleCapError with the lowest feasible cap; PctodlError `INFEASIBLE_PLAN` if memory or latency prevents
 *   a plan
 */
export function planPartition(predictor: Predictor, { model, models, ...options }: PlanOptions): Configuration {
  const served = servedNetworks({ model, models })
  const asked = { ...options, models: served }
  const result = remembered(predictor, asked, () => partition(predictor, asked))
  if (result.feasible) return result.configuration
  if (result.reason === 'power-cap' && result.lowestFeasibleCapW !== null) {
    const names = typeof served === 'string' ? served : served.map((demand) => demand.model).join(', ')
    throw new InfeasibleCapError(options.powerCapW, result.lowestFeasibleCapW, `${names} on ${predictor.spec.name}`)
  }
  throw new PctodlError('INFEASIBLE_PLAN', result.message)
}
