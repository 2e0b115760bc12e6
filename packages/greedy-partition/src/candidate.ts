import type { Composition } from './composition.js'
import type { CompositionEvaluator, Evaluation } from './composition-evaluator.js'
import type { PartitionStep } from './result.js'

/** An allowed configuration and the steps by which the search reached it. */
export interface Candidate {
  readonly evaluation: Evaluation
  readonly trail: readonly TrailStep[]
}

export interface TrailStep {
  readonly stage: PartitionStep['stage']
  readonly move: string
  readonly evaluation: Evaluation
}

/** Convert a trail to the steps of the result. */
export function stepsOf(evaluator: CompositionEvaluator, trail: readonly TrailStep[]): PartitionStep[] {
  return trail.map(({ stage, move, evaluation }) => ({
    stage,
    move,
    configuration: evaluator.configuration(evaluation),
    throughput: evaluation.prediction.throughput,
    powerW: evaluation.prediction.powerW,
  }))
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
