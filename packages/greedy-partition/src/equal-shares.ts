import { type Candidate, describeKinds } from './candidate.js'
import type { CompositionEvaluator } from './composition-evaluator.js'

/** Maximum number of equal tenants: 5 % shares, the finest of the published search. */
const MAX_EQUAL_TENANTS = 20

/**
 * Boards split into n equal tenants, n = 1, 2, ... 20, at every batch size, in one memory state.
 *
 * Greedy misses most of these, because it evaluates the first tenant alone. They do not depend on the cap, so a higher
 * cap never starts from a worse one.
 */
export function equalShares(evaluator: CompositionEvaluator, memIndex: number): Candidate[] {
  const { kinds, totalUnits, maxTenants } = evaluator.problem
  const found: Candidate[] = []
  if (kinds.networks.length > 1) return sharedBetweenNetworks(evaluator, memIndex)
  for (let n = 1; n <= Math.min(MAX_EQUAL_TENANTS, maxTenants, totalUnits); n++) {
    const units = Math.min(Math.floor(totalUnits / n), kinds.maxUnits)
    for (const kind of kinds.at(0, units)) {
      if (evaluator.spent() !== undefined) return found
      const evaluation = evaluator.evaluate(new Array<number>(n).fill(kind), memIndex)
      if (evaluation === undefined) continue
      const move = `${n} equal tenants of ${describeKinds(evaluator, [kind])}`
      found.push({ evaluation, trail: [{ stage: 'equal-shares', move, evaluation }] })
    }
  }
  return found
}

/** Maximum number of tenants per network. */
const MAX_TENANTS_EACH = 4

/**
 * Boards split into equal parts, one per network, and each part into n equal tenants, n = 1 to 4, all with one batch
 * size. The climb then shifts share between the networks.
 */
function sharedBetweenNetworks(evaluator: CompositionEvaluator, memIndex: number): Candidate[] {
  const { kinds, totalUnits, maxTenants } = evaluator.problem
  const { networks, maxUnits } = kinds
  const found: Candidate[] = []
  for (let n = 1; n <= MAX_TENANTS_EACH && n * networks.length <= Math.min(maxTenants, totalUnits); n++) {
    const units = Math.min(Math.floor(totalUnits / (n * networks.length)), maxUnits)
    const sizes = new Set(networks.flatMap((_, i) => kinds.at(i, units).map((kind) => kinds.tenants[kind]!.batchSize)))
    for (const batchSize of sizes) {
      const ofEach = networks.map((_, i) =>
        kinds.at(i, units).find((kind) => kinds.tenants[kind]!.batchSize === batchSize),
      )
      if (ofEach.includes(undefined)) continue
      if (evaluator.spent() !== undefined) return found
      const composition = ofEach.flatMap((kind) => new Array<number>(n).fill(kind!))
      const evaluation = evaluator.evaluate(composition, memIndex)
      if (evaluation === undefined) continue
      const move = `${n} equal tenants of each network, ${describeKinds(evaluator, ofEach as number[])}`
      found.push({ evaluation, trail: [{ stage: 'equal-shares', move, evaluation }] })
    }
  }
  return found
}
