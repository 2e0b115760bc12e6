import { modelOf } from '@pctodl/perf-model/node'
import type { Experiment } from './experiment.js'
import { type NotedPolicy, policyOf } from './policy.js'

/**
 * A fresh policy for one run, planned with the board's parameters.
 *
 * @throws UnknownNameError for a board or a network without parameters; InvalidInputError for a memory clock that the board
 *   does not have
 */
export function experimentPolicy(experiment: Experiment): NotedPolicy {
  return policyOf(modelOf(experiment.board, experiment.parametersFolder), experiment)
}
