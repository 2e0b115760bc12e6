import { type PartitionOptions, partition } from '@pctodl/greedy-partition'
import type { Predictor } from '@pctodl/perf-model'
import { type Configuration, InfeasibleCapError, PctodlError } from '@pctodl/platform'

/** The partitioner's options for one network. */
export interface PlanOptions extends Omit<PartitionOptions, 'models'> {
  readonly model: string
}

/**
 * The best configuration for one network under a cap, or an error where there is none.
 *
 * @throws InfeasibleCapError naming the lowest cap that can be kept; PctodlError `INFEASIBLE_PLAN` where memory or latency
 *   stand in the way
 */
export function planPartition(predictor: Predictor, { model, ...options }: PlanOptions): Configuration {
  const result = partition(predictor, { ...options, models: model })
  if (result.feasible) return result.configuration
  if (result.reason === 'power-cap' && result.lowestFeasibleCapW !== null) {
    throw new InfeasibleCapError(options.powerCapW, result.lowestFeasibleCapW, `${model} on ${predictor.spec.name}`)
  }
  throw new PctodlError('INFEASIBLE_PLAN', result.message)
}
