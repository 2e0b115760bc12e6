import { type Candidate, describeKinds, reached } from './candidate.js'
import type { CompositionEvaluator } from './composition-evaluator.js'

/** Maximum number of equal tenants of one network. They have 5 % shares, the smallest of the published search. */
const MAX_EQUAL_TENANTS = 20
/** Maximum number of equal tenants of each network if there are several networks. */
const MAX_TENANTS_EACH = 4

/**
 * Starts with equal tenants in one memory state. The board is split into equal parts, one per network, and each part
 * into n equal tenants. All tenants have the same batch size. The climb then shifts share between the networks.
 *
 * The greedy stage misses most of these starts, because it evaluates the first tenant alone. The starts do not depend
 * on the cap, so a higher cap never begins with worse starts.
 */
export function equalShares(evaluator: CompositionEvaluator, memIndex: number): Candidate[] {
  const { kinds, totalUnits, maxTenants } = evaluator.problem
  const { networks, maxUnits, tenants } = kinds
  const several = networks.length > 1
  const maxEach = several ? MAX_TENANTS_EACH : MAX_EQUAL_TENANTS
  const found: Candidate[] = []
  for (let n = 1; n <= maxEach && n * networks.length <= Math.min(maxTenants, totalUnits); n++) {
    const units = Math.min(Math.floor(totalUnits / (n * networks.length)), maxUnits)
    const sizes = new Set(networks.flatMap((_, i) => kinds.at(i, units).map((kind) => tenants[kind]!.batchSize)))
    for (const batchSize of sizes) {
      const ofEach = networks.flatMap(
        (_, i) => kinds.at(i, units).find((kind) => tenants[kind]!.batchSize === batchSize) ?? [],
      )
      if (ofEach.length < networks.length) continue
      if (evaluator.spent() !== undefined) return found
      const composition = ofEach.flatMap((kind) => new Array<number>(n).fill(kind))
      const evaluation = evaluator.evaluate(composition, memIndex)
      if (evaluation === undefined) continue
      const move = `${n} equal tenants of ${several ? 'each network, ' : ''}${describeKinds(evaluator, ofEach)}`
      found.push(reached(evaluator, [], 'equal-shares', move, evaluation))
    }
  }
  return found
}
