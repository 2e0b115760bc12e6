import type { Composition } from './composition.js'
import type { CompositionEvaluator, Evaluation } from './composition-evaluator.js'
import type { PartitionStep } from './result.js'

/** An allowed configuration and the steps by which the search reached it. */
export interface Candidate {
  readonly evaluation: Evaluation
  readonly steps: readonly PartitionStep[]
}

/** Returns the candidate after one more step. */
export function reached(
  evaluator: CompositionEvaluator,
  before: Candidate['steps'],
  stage: PartitionStep['stage'],
  move: string,
  evaluation: Evaluation,
): Candidate {
  const configuration = evaluator.configuration(evaluation)
  const { throughput, powerW } = evaluation
  return { evaluation, steps: [...before, { stage, move, configuration, throughput, powerW }] }
}

/** Describe tenants, e.g. `20 % x 64, 20 % x 64`. The text names the network if there are several. */
export function describeKinds(evaluator: CompositionEvaluator, kinds: Composition): string {
  const several = evaluator.problem.kinds.networks.length > 1
  return kinds
    .map((kind) => {
      const { model, mpsPercent, batchSize } = evaluator.problem.kinds.tenants[kind]!
      return `${several ? `${model} ` : ''}${mpsPercent} % x ${batchSize}`
    })
    .join(', ')
}
