import { type Candidate, describeKinds, reached } from './candidate.js'
import { type Composition, changed, isComplete, sumOf } from './composition.js'
import type { CompositionEvaluator } from './composition-evaluator.js'
import { findBestNext, GainQueue } from './find-best-next.js'

/**
 * The published main loop in one memory state: adds the tenant with the largest marginal gain until none fits, then
 * distributes the remaining share. Returns the best state that the loop passed through, which may not be the last one;
 * undefined if no state was allowed.
 */
export function greedy(evaluator: CompositionEvaluator, memIndex: number): Candidate | undefined {
  const { kinds, totalUnits, maxTenants } = evaluator.problem
  const queue = new GainQueue(kinds)
  let composition: Composition = []
  let score = 0
  let steps: Candidate['steps'] = []
  let best: Candidate | undefined

  while (composition.length < maxTenants && evaluator.spent() === undefined) {
    const next = findBestNext(
      evaluator,
      queue,
      composition,
      score,
      totalUnits - sumOf(kinds.units, composition),
      memIndex,
    )
    if (next === undefined) break
    const candidate = reached(
      evaluator,
      steps,
      'greedy',
      `add ${describeKinds(evaluator, [next.kind])}`,
      next.evaluation,
    )
    composition = next.evaluation.composition
    score = next.evaluation.score
    steps = candidate.steps
    if (isComplete(kinds, composition) && (best === undefined || score > best.evaluation.score)) best = candidate
  }
  return best && handOutRest(evaluator, best)
}

/** Distribute unused share unit by unit. Each unit goes to the tenant that gains most, until no tenant gains. */
function handOutRest(evaluator: CompositionEvaluator, from: Candidate): Candidate {
  const { kinds, totalUnits } = evaluator.problem
  let current = from
  for (let free = totalUnits - sumOf(kinds.units, from.evaluation.composition); free > 0; free--) {
    const { composition, memIndex } = current.evaluation
    let best = current
    for (const kind of new Set(composition)) {
      for (const grown of kinds.at(kinds.network[kind]!, kinds.units[kind]! + 1)) {
        if (kinds.tenants[grown]!.batchSize < kinds.tenants[kind]!.batchSize) continue
        if (evaluator.spent() !== undefined) break
        const tried = evaluator.evaluate(changed(composition, [kind], [grown]), memIndex)
        if (tried === undefined || tried.score <= best.evaluation.score) continue
        const move = `grow ${describeKinds(evaluator, [kind])} to ${describeKinds(evaluator, [grown])}`
        best = reached(evaluator, current.steps, 'greedy', move, tried)
      }
    }
    if (best === current) break
    current = best
  }
  return current
}
