import { type NetworkDemand, type PartitionOptions, partition } from '@pctodl/greedy-partition'
import type { Predictor } from '@pctodl/perf-model'
import { type Configuration, InfeasibleCapError, InvalidInputError, PctodlError } from '@pctodl/platform'

/** The networks to serve: one by name, or a list with the demands on each. */
export interface ServedNetworks {
  /** One network. */
  readonly model?: string | undefined
  /** One or several; each of several gets at least one tenant. Replaces `model`. */
  readonly models?: string | readonly NetworkDemand[] | undefined
}

/** The partitioner's options, with the networks as policies get them. */
export interface PlanOptions extends Omit<PartitionOptions, 'models'>, ServedNetworks {}

/** @throws InvalidInputError where both or neither of `model` and `models` are given */
export function servedNetworks({ model, models }: ServedNetworks): string | readonly NetworkDemand[] {
  const served = models ?? model
  if (served === undefined || (model !== undefined && models !== undefined)) {
    throw new InvalidInputError('models', models, 'the networks to serve, in one of model and models')
  }
  return served
}

/**
 * The best configuration for one or several networks under a cap, or an error if there is none.
 *
 * @throws InfeasibleCapError naming the lowest cap that can be kept; PctodlError `INFEASIBLE_PLAN` where memory or latency
 *   stand in the way
 */
export function planPartition(predictor: Predictor, { model, models, ...options }: PlanOptions): Configuration {
  const served = servedNetworks({ model, models })
  const result = partition(predictor, { ...options, models: served })
  if (result.feasible) return result.configuration
  if (result.reason === 'power-cap' && result.lowestFeasibleCapW !== null) {
    const names = typeof served === 'string' ? served : served.map((demand) => demand.model).join(', ')
    throw new InfeasibleCapError(options.powerCapW, result.lowestFeasibleCapW, `${names} on ${predictor.spec.name}`)
  }
  throw new PctodlError('INFEASIBLE_PLAN', result.message)
}
