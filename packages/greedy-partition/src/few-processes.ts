import { type Candidate, reached } from './candidate.js'
import { better, type CompositionEvaluator, type Evaluation } from './composition-evaluator.js'
import type { TradeRow } from './result.js'

/**
 * Fraction of the best throughput that using fewer processes may cost. Each row of the trade also gains at least this
 * fraction over the row before.
 */
const MIN_GAIN = 0.01

/**
 * Select a plan among the evaluated plans within `MIN_GAIN` of the best throughput: the one with the fewest processes,
 * then with the lowest p99.
 */
export function withFewProcesses(evaluator: CompositionEvaluator, best: Candidate): Candidate {
  const p99LatencyMs = p99LatencyOf(evaluator)
  const least = (1 - MIN_GAIN) * best.evaluation.score
  const chosen = evaluator
    .seen()
    .filter(({ score }) => score >= least)
    .reduce((a, b) => {
      const by = a.composition.length - b.composition.length || p99LatencyMs(a) - p99LatencyMs(b)
      return by === 0 ? better(a, b)! : by < 0 ? a : b
    })
  if (chosen === best.evaluation) return best
  const move = `${chosen.composition.length} processes, p99 ${p99LatencyMs(chosen).toFixed(1)} ms`
  return reached(evaluator, best.steps, 'choice', move, chosen)
}

export function tradeOf(evaluator: CompositionEvaluator): TradeRow[] {
  const byProcesses: (Evaluation | undefined)[] = []
  for (const evaluation of evaluator.seen()) {
    const processes = evaluation.composition.length
    byProcesses[processes] = better(byProcesses[processes], evaluation)
  }
  const p99LatencyMs = p99LatencyOf(evaluator)
  const rows: TradeRow[] = []
  for (const evaluation of byProcesses) {
    if (evaluation === undefined || evaluation.score < (1 + MIN_GAIN) * (rows.at(-1)?.throughput ?? 0)) continue
    const { composition, score, powerW } = evaluation
    const p99 = p99LatencyMs(evaluation)
    rows.push({ processes: composition.length, p99LatencyMs: p99, throughput: score, powerW })
  }
  return rows
}

/** Returns the largest p99 latency of an evaluation's processes, ms. */
function p99LatencyOf(evaluator: CompositionEvaluator) {
  return (evaluation: Evaluation): number =>
    Math.max(...evaluator.predictionOf(evaluation).tenants.map((tenant) => tenant.p99LatencyMs ?? tenant.latencyMs))
}
