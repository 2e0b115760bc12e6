import { type Candidate, describeKinds } from './candidate.js'
import type { CompositionEvaluator } from './composition-evaluator.js'

/** Beyond this many equal tenants a board is no longer cut finer: 5 % shares, the finest that the published search uses. */
const MAX_EQUAL_TENANTS = 20

/**
 * Boards cut into n equal tenants, n = 1, 2, ... 20, at every batch size, in one memory state.
 *
 * Greedy never meets most of these, because it decides on the first tenant as if it stayed alone. They do not depend on the
 * cap, so a higher cap never has a worse one to start from.
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

/** Of each network, at most. */
const MAX_TENANTS_EACH = 4

/**
 * The board cut into equal parts, one for each network, and each part into n equal tenants, n = 1 to 4, all of one batch size. What
 * one network needs more than another, the climb from here gives it.
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
