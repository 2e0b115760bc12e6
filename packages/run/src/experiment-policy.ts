import { modelOf } from '@pctodl/perf-model/node'
import type { Experiment } from './experiment.js'
import { type NotedPolicy, policyOf } from './policy.js'

/**
 * Creates the policy of one run, with the predictor parameters of its board.
 *
 * @throws UnknownNameError for a board or a network without parameters; InvalidInputError for a memory clock that the
 * board does not have
 */
export function experimentPolicy(experiment: Experiment): NotedPolicy {
  return policyOf(modelOf(experiment.board, experiment.parametersFolder), experiment)
}
