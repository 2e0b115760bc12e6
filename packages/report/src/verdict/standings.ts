import { mean } from '@pctodl/numerics'
import { findGpuSpec, UnknownNameError } from '@pctodl/platform'
import { limitOnly, notCompeting, PLANNED_STEP, planLess } from '../chart/matrix-algorithms.js'
import { combineRepeatedRuns } from './combine-runs.js'
import { groupBy } from './group-by.js'
import { merit, type RunSummary, taskKey } from './run-summary.js'
import { geometricMean, type Spread, spreadOf } from './spread.js'

/**
 * `no-opponent`: it holds the cap and no opponent does. `no-feedback`: it is ahead, but no opponent had feedback,
 * because the cap lies below the board's lowest limit. `nobody`: no algorithm holds the cap. None of these is a win.
 */
export type Outcome = 'win' | 'tie' | 'loss' | 'no-opponent' | 'no-feedback' | 'nobody'

export const outcomes: readonly Outcome[] = ['win', 'tie', 'loss', 'no-opponent', 'no-feedback', 'nobody']

/** One algorithm against the best of all others, task by task. */
export interface Standings extends Tally {
  readonly subject: string
  readonly tasks: readonly TaskStanding[]
}

/** Counts of outcomes over tasks, with geometric means of their ratios; null if no task has one. */
export interface Tally extends Readonly<Record<'ratio' | 'planning' | 'control' | 'equalP99', Ratio | null>> {
  readonly outcomes: Readonly<Record<Outcome, number>>
}

/** A geometric mean over boards, and its spread. */
export interface Ratio {
  readonly value: number
  readonly spread: Spread | null
  /** Ratio of each board, in the order of the boards that have one. */
  readonly byBoard: ReadonlyMap<string, number>
}

export interface BoardStanding {
  readonly instance: string
  readonly rival: string | null
  readonly ratio: number | null
  readonly outcome: Outcome
}

export interface TaskStanding {
  /** Set of the task; absent for the usual one. */
  readonly set?: string
  readonly board: string
  readonly taskId: number
  readonly model: string
  readonly dataset: string
  readonly capW: RunSummary['capW']
  /** The algorithm's runs of the task combined; null if it has none. */
  readonly own: RunSummary | null
  /** The opponent on most boards, its runs combined; null if none holds the cap on any. */
  readonly rival: RunSummary | null
  /**
   * Own merit over the opponent's (samples/s, requests/J, or load), over the boards on which both hold; null if there
   * is none.
   */
  readonly ratio: Ratio | null
  readonly boards: readonly BoardStanding[]
  /** The board with the lowest ratio, if there are several. */
  readonly worst: BoardStanding | null
  /** `plan-limit-step` over the best opponent without a plan. */
  readonly planning: Ratio | null
  /** The algorithm over `plan-limit-step`. */
  readonly control: Ratio | null
  /** Ratio of the corresponding task with equal p99; null if it was not run. */
  readonly equalP99: Ratio | null
  readonly outcome: Outcome
}

/** Ratios this close to 1 are ties, as are all whose interval or range contains 1. */
export const TIE_TOLERANCE = 0.005

/** The algorithm that the first table describes. */
const USUAL_SUBJECT = 'pctodl'

/** Offset between the ids of the tasks with equal p99 and those of their plain tasks. */
export const EQUAL_P99_IDS = 600
export const EQUAL_P99_SET = 'equal-p99'

/**
 * Compare an algorithm with the best other one of each task. The opponent of a board is chosen on the other boards: the
 * one with the highest merit there that holds on the board itself. Breaking a cap, or having no result where others
 * hold it, is a loss.
 *
 * @param summaries all runs; those on one board go by the same `instance`, or stand in the same order for all algorithms
 * @returns undefined where the algorithm or its opponents were not run
 */
export function standings(summaries: readonly RunSummary[], subject: string = USUAL_SUBJECT): Standings | undefined {
  const competing = summaries.filter(({ algorithm }) => !notCompeting.includes(algorithm))
  const algorithms = new Set(competing.map(({ algorithm }) => algorithm))
  if (!algorithms.has(subject) || algorithms.size < 2) return undefined
  const standing = [...groupBy(competing, taskKey).values()]
    .filter((runs) => runs.some(({ algorithm }) => algorithm !== subject))
    .map((runs) => standingOf(runs, subject))
  const tasks = standing.map((task) => ({
    ...task,
    equalP99:
      standing.find(
        (other) =>
          other.set === EQUAL_P99_SET && other.board === task.board && other.taskId === task.taskId + EQUAL_P99_IDS,
      )?.ratio ?? null,
  }))
  return { subject, tasks, ...tallyOf(tasks) }
}

/** Count outcomes, and average the ratios of tasks geometrically. */
export function tallyOf(tasks: readonly TaskStanding[]): Tally {
  const count = (outcome: Outcome) => tasks.filter((task) => task.outcome === outcome).length
  const meanOf = (ratios: readonly (Ratio | null)[]): Ratio | null => {
    const counted = ratios.filter((ratio) => ratio !== null)
    if (counted.length === 0) return null
    // All tasks run on the same boards, so a board's figure is its mean over the tasks.
    const instances = [...new Set(counted.flatMap(({ byBoard }) => [...byBoard.keys()]))]
    const complete = instances.filter((instance) => counted.every(({ byBoard }) => byBoard.has(instance)))
    const byBoard = new Map(
      complete.map((instance) => [instance, geometricMean(counted.map(({ byBoard }) => byBoard.get(instance)!))]),
    )
    const value = geometricMean(counted.map((ratio) => ratio.value))
    return { value, spread: spreadOf([...byBoard.values()], 'ratio'), byBoard }
  }
  return {
    outcomes: Object.fromEntries(outcomes.map((outcome) => [outcome, count(outcome)])) as Tally['outcomes'],
    ratio: meanOf(tasks.map(({ ratio }) => ratio)),
    planning: meanOf(tasks.map(({ planning }) => planning)),
    control: meanOf(tasks.map(({ control }) => control)),
    equalP99: meanOf(tasks.map(({ equalP99 }) => equalP99)),
  }
}

const holds = (run: RunSummary | undefined): run is RunSummary => run?.verdict.status === 'holds'

/** Runs of one task by board and algorithm. */
type Boards = ReadonlyMap<string, ReadonlyMap<string, RunSummary>>

/** Runs that name no board are numbered in their order, per algorithm. */
function boardsOf(runs: readonly RunSummary[]): Boards {
  const boards = new Map<string, Map<string, RunSummary>>()
  const seen = new Map<string, number>()
  for (const run of runs) {
    const number = (seen.get(run.algorithm) ?? 0) + 1
    seen.set(run.algorithm, number)
    const instance = run.instance ?? `run ${number}`
    boards.set(instance, (boards.get(instance) ?? new Map()).set(run.algorithm, run))
  }
  return boards
}

/**
 * The opponent of each board: the best one on the other boards that holds on this one; on a single board, the best one
 * there.
 */
function opponents(boards: Boards, candidates: readonly string[]): Map<string, RunSummary | undefined> {
  return new Map(
    [...boards].map(([instance, runs]) => {
      const others =
        boards.size === 1 ? [runs] : [...boards].flatMap(([other, each]) => (other === instance ? [] : [each]))
      const score = (name: string) =>
        mean(others.map((each) => (holds(each.get(name)) ? merit(each.get(name)!) / scaleOf(each) : 0)))
      const ranked = candidates.filter((name) => holds(runs.get(name))).sort((a, b) => score(b) - score(a))
      return [instance, runs.get(ranked[0] ?? '')]
    }),
  )
}

/** Normalised, so that no board counts more than another. */
const scaleOf = (runs: ReadonlyMap<string, RunSummary>) => Math.max(Number.MIN_VALUE, ...[...runs.values()].map(merit))

function ratioOf(
  boards: Boards,
  own: (instance: string) => RunSummary | undefined,
  rival: (instance: string) => RunSummary | undefined,
): Ratio | null {
  const byBoard = new Map<string, number>()
  for (const instance of boards.keys()) {
    const [a, b] = [own(instance), rival(instance)]
    if (holds(a) && holds(b) && merit(a) > 0 && merit(b) > 0) byBoard.set(instance, merit(a) / merit(b))
  }
  if (byBoard.size === 0) return null
  const values = [...byBoard.values()]
  return { value: geometricMean(values), spread: spreadOf(values, 'ratio'), byBoard }
}

function standingOf(runs: readonly RunSummary[], subject: string): Omit<TaskStanding, 'equalP99'> {
  const { board, taskId, model, dataset, capW, set } = runs[0]!
  const boards = boardsOf(runs)
  const names = [...new Set(runs.map(({ algorithm }) => algorithm))].filter((name) => name !== subject)
  const rivals = opponents(boards, names)
  const planless = opponents(
    boards,
    names.filter((name) => planLess.includes(name)),
  )
  const run = (name: string) => (instance: string) => boards.get(instance)!.get(name)
  const ratio = ratioOf(boards, run(subject), (instance) => rivals.get(instance))
  const standing = [...boards.keys()].map((instance): BoardStanding => {
    const rival = rivals.get(instance)?.algorithm ?? null
    const ofBoard = ratio?.byBoard.get(instance) ?? null
    const ownHolds = holds(run(subject)(instance))
    return { instance, rival, ratio: ofBoard, outcome: outcomeOf(ownHolds, rival !== null, ofBoard, null) }
  })
  const worst = standing.filter((each) => each.ratio !== null).sort((a, b) => a.ratio! - b.ratio!)[0] ?? null
  const combined = combineRepeatedRuns(runs)
  const usual = mostFrequent(standing.flatMap(({ rival }) => rival ?? []))
  // A board without a ratio that is lost, or on which nobody holds, is one where the algorithm broke its cap.
  const ownHolds = standing.every(({ outcome, ratio }) => ratio !== null || outcome === 'no-opponent')
  const outcome = outcomeOf(ownHolds, usual !== undefined, ratio?.value ?? null, ratio?.spread ?? null)
  const blind = belowLowestLimit(runs) && names.every((name) => limitOnly.includes(name))
  return {
    ...(set === undefined ? {} : { set }),
    board,
    taskId,
    model,
    dataset,
    capW,
    own: combined.find(({ algorithm }) => algorithm === subject) ?? null,
    rival: combined.find(({ algorithm }) => algorithm === usual) ?? null,
    ratio,
    boards: standing,
    worst: standing.length > 1 ? worst : null,
    planning: ratioOf(boards, run(PLANNED_STEP), (instance) => planless.get(instance)),
    control: subject === PLANNED_STEP ? null : ratioOf(boards, run(subject), run(PLANNED_STEP)),
    outcome: outcome === 'win' && blind ? 'no-feedback' : outcome,
  }
}

function outcomeOf(ownHolds: boolean, hasRival: boolean, ratio: number | null, spread: Spread | null): Outcome {
  if (!ownHolds) return hasRival ? 'loss' : 'nobody'
  if (!hasRival || ratio === null) return 'no-opponent'
  const touches = spread !== null && spread.low <= 1 && spread.high >= 1
  if (touches || Math.abs(ratio - 1) <= TIE_TOLERANCE) return 'tie'
  return ratio > 1 ? 'win' : 'loss'
}

function mostFrequent(names: readonly string[]): string | undefined {
  const count = (name: string) => names.filter((other) => other === name).length
  return [...new Set(names)].sort((a, b) => count(b) - count(a))[0]
}

/** Whether any cap lies below the lowest power limit of the board; false for unknown boards. */
function belowLowestLimit(runs: readonly RunSummary[]): boolean {
  const lowestCapW = Math.min(...runs.map((run) => run.lowestCapW))
  try {
    return lowestCapW < findGpuSpec(runs[0]!.board).powerLimitW.min
  } catch (error) {
    if (error instanceof UnknownNameError) return false
    throw error
  }
}
