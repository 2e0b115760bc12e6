import { type Candidate, describeKinds } from './candidate.js'
import type { Evaluator } from './evaluator.js'

/** Beyond this many equal tenants a board is no longer cut finer: 5 % shares, the finest that the published search uses. */
const MOST_EQUAL_TENANTS = 20

/**
 * Boards cut into n equal tenants, n = 1, 2, ... 20, at every batch size, in one memory state, best first.
 *
 * Greedy never meets most of these, because it decides on the first tenant as if it stayed alone. They do not depend on the
 * cap, so a higher cap never has a worse one to start from.
 */
export function equalShares(evaluator: Evaluator, memIndex: number): Candidate[] {
  const { kinds, totalUnits, maxTenants } = evaluator.problem
  const found: Candidate[] = []
  if (kinds.networks.length > 1) return found
  for (let n = 1; n <= Math.min(MOST_EQUAL_TENANTS, maxTenants, totalUnits); n++) {
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
