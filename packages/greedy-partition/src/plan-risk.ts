import type { Predictor } from '@pctodl/perf-model'
import { smClocksAt } from '@pctodl/platform'
import type { Candidate } from './candidate.js'
import { CompositionEvaluator, type Evaluation } from './composition-evaluator.js'
import { sdsOfTail } from './power-tail.js'
import type { SearchProblem } from './search-problem.js'

/** Two kinds of board whose mean share, mean batch or number of tenants differ by this factor err on their own. */
const APART = 2
/** Standard deviations of power that an alternative may be behind: as many as two errors of opposite sign make. */
const REACH_SDS = 4
/** Alternatives that are judged anew once their number is known. */
const MOST_JUDGED = 200

/** A plan together with what was asked of its risk. */
export interface RiskedPlan {
  readonly best: Candidate
  /** The evaluator that judged it, with the limits that hold for it. */
  readonly evaluator: CompositionEvaluator
  /** Kinds of plan that an error of the predictor could have put in this one's place; the plan is one of them. */
  readonly alternatives: number
}

/**
 * Take account of the choice itself. A search picks, of many configurations that look alike, the one whose power is predicted
 * lowest, and so prefers errors: the chance that *the plan* exceeds its cap is larger than that of a configuration drawn without
 * looking. It is at most the chance that any of those exceeds that could have been picked, so each of the m kinds of
 * configuration within reach of the best is held to the risk 1 - (1 - p)^(1/m) (Z. Sidak, JASA 62, 1967; simultaneous bounds
 * hold after any choice: R. Berk et al., Annals of Statistics 41, 2013). Within reach is whatever four standard deviations of power
 * could have lifted to the top, two of its own and two of the best; kinds are told apart by what the predictor's errors have in common.
 */
export function withPlanRisk(evaluator: CompositionEvaluator, best: Candidate): RiskedPlan {
  const { problem, predictor } = evaluator
  const { capExceedanceProbability: risk } = problem
  if (risk === undefined) return { best, evaluator, alternatives: 1 }
  const within = best.evaluation.score * (1 - reachOf(evaluator, best.evaluation))
  const near = evaluator
    .evaluated()
    .filter(({ score }) => score >= within)
    .sort((a, b) => b.score - a.score)
  // Where the cap is so tight that nothing keeps it at the smaller risk, fewer alternatives are in question.
  for (let alternatives = kindsOf(problem, near).size; alternatives > 1; alternatives >>= 1) {
    const stricter = atRisk(predictor, problem, 1 - (1 - risk) ** (1 / alternatives), risk)
    const judge = new CompositionEvaluator(predictor, stricter, evaluator)
    let found: Evaluation | undefined
    for (const { composition, memIndex } of near.slice(0, MOST_JUDGED)) {
      const judged = judge.evaluate(composition, memIndex)
      if (judged !== undefined && judged.score > (found?.score ?? 0)) found = judged
    }
    if (found === undefined) continue
    const move = `the same risk for each of ${alternatives} kinds of plan that could have been chosen`
    // Not climbed from: what is found on the way would be an alternative that was not counted.
    const trail = [...best.trail, { stage: 'risk' as const, move, evaluation: found }]
    return { best: { evaluation: found, trail }, evaluator: judge, alternatives }
  }
  return { best, evaluator, alternatives: 1 }
}

function atRisk(predictor: Predictor, problem: SearchProblem, each: number, risk: number): SearchProblem {
  return { ...problem, powerSdCount: sdsOfTail(predictor, each), capExceedanceProbability: risk }
}

/** How much of its score a plan owes to so many standard deviations of power: to the clock that they are worth. */
function reachOf(evaluator: CompositionEvaluator, { smClockMhz, memIndex, prediction, ...plan }: Evaluation): number {
  const { problem, predictor } = evaluator
  const memClockMhz = problem.memClocksMhz[memIndex]!
  const lessW = prediction.powerW - REACH_SDS * (prediction.powerSdW ?? 0)
  const tenants = evaluator.tenantsOf(plan.composition)
  const clocks = smClocksAt(predictor.spec, memClockMhz)!
  const slower = predictor.solveSmClock(tenants, memClockMhz, lessW) ?? clocks[0]!
  if (slower >= smClockMhz) return 0
  const { throughput } = predictor.predict({ tenants, memClockMhz, smClockMhz: slower })
  return Math.max(0, 1 - throughput / prediction.throughput)
}

/** Names of the kinds of configuration among some. */
function kindsOf({ kinds }: SearchProblem, evaluations: readonly Evaluation[]): Set<string> {
  const step = 1 / Math.log(APART)
  return new Set(
    evaluations.map(({ composition, memIndex }) => {
      let share = 0
      let batch = 0
      for (const kind of composition) {
        share += kinds.units[kind]!
        batch += Math.log(kinds.tenants[kind]!.batchSize)
      }
      const count = composition.length
      const cell = [Math.log(share / count), batch / count, Math.log(count)].map((value) => Math.round(step * value))
      return `${memIndex} ${cell.join(' ')}`
    }),
  )
}
