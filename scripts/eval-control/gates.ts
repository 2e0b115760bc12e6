import { type Estimate, medianEstimate } from '@pctodl/numerics'
import type { CaseResult } from './run-case.js'

/** Changes asked of the board or of tenants per minute of steady state that count as probing, not as control. */
export const PROBING_BUDGET_PER_MINUTE = 6

/** One bound on one figure of every run it concerns. */
export interface Gate {
  readonly name: string
  readonly unit: string
  readonly bound: number
  readonly sense: 'at most' | 'at least'
  /** Bound where the board or the model is disturbed: twice as loose. */
  readonly relaxedBound: number
  readonly digits: number
  readonly figuresOf: (result: CaseResult) => readonly number[]
}

export interface GateOutcome {
  readonly gate: Gate
  readonly bound: number
  readonly median: Estimate
  readonly worst: number
  /** Where the worst is. */
  readonly worstCase: string
  readonly runs: number
  /** Share of the runs that keep the bound, percent. */
  readonly keptPercent: number
  readonly medianPasses: boolean
  readonly worstPasses: boolean
}

export const gates: readonly Gate[] = [
  {
    name: 'time above the cap, 1 s average',
    unit: '%',
    bound: 1,
    relaxedBound: 2,
    sense: 'at most',
    digits: 2,
    figuresOf: (result) => [result.violationPercent],
  },
  {
    name: 'time above the cap, 10 s average',
    unit: '%',
    bound: 0,
    relaxedBound: 0,
    sense: 'at most',
    digits: 2,
    figuresOf: (result) => [result.violationTenSecondsPercent],
  },
  {
    name: 'relative violation energy',
    unit: '%',
    bound: 0.05,
    relaxedBound: 0.1,
    sense: 'at most',
    digits: 4,
    figuresOf: (result) => [result.excessEnergyPercent],
  },
  {
    name: 'settling after a cap step that binds',
    unit: 's',
    bound: 3,
    relaxedBound: 6,
    sense: 'at most',
    digits: 2,
    figuresOf: ({ settlingMs, settlingBinds }) =>
      settlingMs.filter((_, i) => settlingBinds[i]).map((ms) => (ms === null ? Number.POSITIVE_INFINITY : ms / 1000)),
  },
  {
    name: 'throughput over the oracle, steady state',
    unit: '%',
    bound: 97,
    relaxedBound: 94,
    sense: 'at least',
    digits: 1,
    figuresOf: (result) => [100 * result.oracleRatioSteady],
  },
  {
    name: 'throughput over the oracle, whole of tasks 29 and 30',
    unit: '%',
    bound: 93,
    relaxedBound: 86,
    sense: 'at least',
    digits: 1,
    figuresOf: (result) => (result.scheduled ? [100 * result.oracleRatioWhole] : []),
  },
  {
    name: 'actuations in steady state (probing budget)',
    unit: '/min',
    bound: PROBING_BUDGET_PER_MINUTE,
    relaxedBound: 2 * PROBING_BUDGET_PER_MINUTE,
    sense: 'at most',
    digits: 1,
    figuresOf: (result) => [result.actuationsPerMinute],
  },
]

/** A gate held against runs of one algorithm; undefined where it concerns none of them. */
export function judge(gate: Gate, results: readonly CaseResult[], relaxed = false): GateOutcome | undefined {
  const figures = results.flatMap((result) => gate.figuresOf(result).map((figure) => ({ figure, result })))
  if (figures.length === 0) return undefined
  const bound = relaxed ? gate.relaxedBound : gate.bound
  const atMost = gate.sense === 'at most'
  const keeps = (figure: number) => (atMost ? figure <= bound : figure >= bound)
  const worst = figures.reduce((a, b) => ((atMost ? b.figure > a.figure : b.figure < a.figure) ? b : a))
  const median = medianEstimate(figures.map(({ figure }) => figure))!
  return {
    gate,
    bound,
    median,
    worst: worst.figure,
    worstCase: `${worst.result.board} ${worst.result.taskId}, seed ${worst.result.seed}`,
    runs: figures.length,
    keptPercent: (100 * figures.filter(({ figure }) => keeps(figure)).length) / figures.length,
    medianPasses: keeps(median.value),
    worstPasses: keeps(worst.figure),
  }
}

/** Energy above the cap after steps down, the reference mode's over ours, for each run with a step down. */
export function stepDownRatios(ours: readonly CaseResult[], reference: readonly CaseResult[]): number[] {
  return ours.flatMap((result) => {
    if (result.stepDownExcessJ === null) return []
    const other = reference.find(
      ({ board, taskId, seed }) => board === result.board && taskId === result.taskId && seed === result.seed,
    )
    // Nothing above the cap at all is as good as it gets; a millijoule keeps the ratio finite.
    return [other!.stepDownExcessJ! / Math.max(1e-3, result.stepDownExcessJ)]
  })
}

export interface TaskComparison {
  readonly board: string
  readonly taskId: number
  /** Compliant throughput, median over the seeds, samples/s. */
  readonly ours: number
  readonly best: number
  readonly bestAlgorithm: string
}

/** Our compliant throughput beside the best baseline's that it can be compared with, task by task. */
export function compareWithBaselines(
  results: readonly CaseResult[],
  baselines: readonly string[],
  qualifies: (result: CaseResult) => boolean = () => true,
): TaskComparison[] {
  const medianOf = (of: readonly CaseResult[]) => medianEstimate(of.map((result) => result.compliantThroughput))?.value
  const undisturbed = results.filter(({ disturbance }) => disturbance === 'none')
  const tasks = [...new Set(undisturbed.map(({ board, taskId }) => `${board} ${taskId}`))]
  return tasks.map((task) => {
    const ofTask = undisturbed.filter(({ board, taskId }) => `${board} ${taskId}` === task)
    let best = 0
    let bestAlgorithm = 'none'
    for (const name of baselines) {
      const value = medianOf(ofTask.filter((result) => result.algorithm === name && qualifies(result))) ?? 0
      if (value > best) {
        best = value
        bestAlgorithm = name
      }
    }
    const { board, taskId } = ofTask[0]!
    return {
      board,
      taskId,
      ours: medianOf(ofTask.filter(({ algorithm }) => algorithm === 'pctodl'))!,
      best,
      bestAlgorithm,
    }
  })
}
