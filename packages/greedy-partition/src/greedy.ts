import { type Candidate, describeKinds, type TrailStep } from './candidate.js'
import { type Composition, changed, isComplete, unitsOf } from './composition.js'
import type { CompositionEvaluator, Evaluation } from './composition-evaluator.js'
import { findBestNext, GainQueue } from './find-best-next.js'

/**
 * The published main loop in one memory state: adds the tenant with the largest marginal gain until none fits, then
 * distributes the remaining share. Returns the best state that the loop passed through, which may not be the last one;
 * undefined if no state was allowed.
 */
export function greedy(evaluator: CompositionEvaluator, memIndex: number): Candidate | undefined {
  const { kinds, totalUnits, maxTenants } = evaluator.problem
  const queue = new GainQueue(kinds)
  const trail: TrailStep[] = []
  let composition: Composition = []
  let score = 0
  let best: { evaluation: Evaluation; steps: number } | undefined

  while (composition.length < maxTenants && evaluator.spent() === undefined) {
    const next = findBestNext(evaluator, queue, composition, score, totalUnits - unitsOf(kinds, composition), memIndex)
    if (next === undefined) break
    composition = next.evaluation.composition
    score = next.evaluation.score
    trail.push({ stage: 'greedy', move: `add ${describeKinds(evaluator, [next.kind])}`, evaluation: next.evaluation })
    if (isComplete(kinds, composition) && (best === undefined || score > best.evaluation.score)) {
      best = { evaluation: next.evaluation, steps: trail.length }
    }
  }
  if (best === undefined) return undefined
  return handOutRest(evaluator, { evaluation: best.evaluation, trail: trail.slice(0, best.steps) })
}

/** Distribute unused share unit by unit. Each unit goes to the tenant that gains most, until no tenant gains. */
function handOutRest(evaluator: CompositionEvaluator, from: Candidate): Candidate {
  const { kinds, totalUnits } = evaluator.problem
  let { evaluation, trail } = from
  for (let free = totalUnits - unitsOf(kinds, evaluation.composition); free > 0; free--) {
    let best: Evaluation | undefined
    let move = ''
    for (const kind of new Set(evaluation.composition)) {
      for (const grown of kinds.at(kinds.network[kind]!, kinds.units[kind]! + 1)) {
        if (kinds.tenants[grown]!.batchSize < kinds.tenants[kind]!.batchSize) continue
        if (evaluator.spent() !== undefined) break
        const tried = evaluator.evaluate(changed(evaluation.composition, [kind], [grown]), evaluation.memIndex)
        if (tried !== undefined && tried.score > (best ?? evaluation).score) {
          best = tried
          move = `grow ${describeKinds(evaluator, [kind])} to ${describeKinds(evaluator, [grown])}`
        }
      }
    }
    if (best === undefined) break
    evaluation = best
    trail = [...trail, { stage: 'greedy', move, evaluation }]
  }
  return { evaluation, trail }
}
