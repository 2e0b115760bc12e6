import { mean } from '@pctodl/numerics'
import { given, groupBy } from '@pctodl/platform'
import { notCompeting, planLess, planOnly } from '../chart/matrix-algorithms.js'
import { combineRepeatedRuns } from './combine-runs.js'
import { holds } from './ranking.js'
import { merit, type RunSummary, taskKey } from './run-summary.js'
import { geometricMean, type Spread, spreadOf } from './spread.js'

/**
 * Result of an algorithm (the subject) compared with its opponents. `no-opponent`: the subject holds the cap and no
 * opponent does. `nobody`: no algorithm holds the cap. Neither of these two counts as a win.
 */
export type Outcome = 'win' | 'tie' | 'loss' | 'no-opponent' | 'nobody'

export const outcomes: readonly Outcome[] = ['win', 'tie', 'loss', 'no-opponent', 'nobody']

/** One algorithm (the subject) compared with the best other algorithm of each task. */
export interface Standings extends Tally {
  readonly subject: string
  readonly tasks: readonly TaskStanding[]
}

/**
 * Number of tasks with each outcome, and geometric means of the tasks' ratios. A mean is null if no task has the ratio.
 */
export interface Tally extends Readonly<Record<'ratio' | 'planning' | 'control', Ratio | null>> {
  readonly outcomes: Readonly<Record<Outcome, number>>
}

/** A geometric mean over boards, with its spread. */
export interface Ratio {
  readonly value: number
  readonly spread: Spread | null
  /** Ratio on each board, by the board's name. Boards without a ratio are left out. */
  readonly byBoard: ReadonlyMap<string, number>
}

export interface TaskStanding {
  /** Name of the set that contains the task; absent for the paper's set. */
  readonly set?: string
  readonly board: string
  readonly taskId: number
  readonly model: string
  readonly capW: RunSummary['capW']
  /** The subject's runs of the task combined; null if there are none. */
  readonly own: RunSummary | null
  /**
   * Runs of the opponent that is the best on most boards, combined. Null if no opponent holds the cap on any board.
   */
  readonly rival: RunSummary | null
  /**
   * Merit of the subject divided by the merit of the opponent: geometric mean over the boards on which both hold the
   * cap. The merit is samples/s, requests/J or the load factor. Null if there is no such board.
   */
  readonly ratio: Ratio | null
  /** Algorithm of the opponent on each board, by the board's name; null if none holds the cap. */
  readonly rivals: ReadonlyMap<string, string | null>
  /**
   * Merit of the best opponent that runs pctodl's tenants, divided by the merit of the best opponent with other
   * tenants.
   */
  readonly planning: Ratio | null
  /**
   * Merit of the subject divided by the merit of the best opponent that runs pctodl's plan without its controller. Null
   * if the subject is such an algorithm, or if there is no board on which both hold the cap.
   */
  readonly control: Ratio | null
  readonly outcome: Outcome
}

/** A ratio that differs from 1 by at most this much is a tie. So is a ratio whose interval or range contains 1. */
export const TIE_TOLERANCE = 0.005

/** The algorithm that the first table compares with the others. */
const USUAL_SUBJECT = 'pctodl'

/**
 * Compares an algorithm with the best other algorithm of each task. To avoid a biased choice, the opponent on a board
 * is the algorithm with the highest merit on the other boards, among those that hold the cap on this board. If the
 * subject breaks a cap that an opponent holds, or has no result there, it is a loss.
 *
 * @param summaries all runs. Runs on one board have the same `instance`, or the same position among the runs of their
 *   algorithm
 * @returns undefined if there are no runs of the subject, or none of an opponent
 */
export function standings(summaries: readonly RunSummary[], subject: string = USUAL_SUBJECT): Standings | undefined {
  const competing = summaries.filter(({ algorithm }) => !notCompeting.includes(algorithm))
  const algorithms = new Set(competing.map(({ algorithm }) => algorithm))
  if (!algorithms.has(subject) || algorithms.size < 2) return undefined
  const tasks = [...groupBy(competing, taskKey).values()]
    .filter((runs) => runs.some(({ algorithm }) => algorithm !== subject))
    .map((runs) => standingOf(runs, subject))
  return { subject, tasks, ...tallyOf(tasks) }
}

/** Counts the outcomes, and averages the ratios of the tasks geometrically. */
export function tallyOf(tasks: readonly TaskStanding[]): Tally {
  const count = (outcome: Outcome) => tasks.filter((task) => task.outcome === outcome).length
  const meanOf = (ratios: readonly (Ratio | null)[]): Ratio | null => {
    const counted = ratios.filter((ratio) => ratio !== null)
    if (counted.length === 0) return null
    // All tasks are run on the same boards, so the figure of a board is its mean over the tasks.
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
  }
}

/** Runs of one task, by board and then by algorithm. */
type Boards = ReadonlyMap<string, ReadonlyMap<string, RunSummary>>

/**
 * Groups runs by board. Runs without a board's name count as the first, second, ... board in the order of their
 * algorithm's runs.
 */
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

/** The run of one side on each board, by the board's name. */
type Side = ReadonlyMap<string, RunSummary | undefined>

/**
 * Chooses the opponent for each board: the best algorithm on the other boards, among those that hold the cap on this
 * one. If there is only one board, it is the best algorithm there.
 */
function opponents(boards: Boards, candidates: readonly string[]): Side {
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

/** Highest merit on a board. Each merit is divided by it, so that all boards have the same weight. */
const scaleOf = (runs: ReadonlyMap<string, RunSummary>) => Math.max(Number.MIN_VALUE, ...[...runs.values()].map(merit))

function ratioOf(own: Side, rival: Side): Ratio | null {
  const byBoard = new Map<string, number>()
  for (const [instance, a] of own) {
    const b = rival.get(instance)
    if (holds(a) && holds(b) && merit(a) > 0 && merit(b) > 0) byBoard.set(instance, merit(a) / merit(b))
  }
  if (byBoard.size === 0) return null
  const values = [...byBoard.values()]
  return { value: geometricMean(values), spread: spreadOf(values, 'ratio'), byBoard }
}

function standingOf(runs: readonly RunSummary[], subject: string): TaskStanding {
  const { board, taskId, model, capW, set } = runs[0]!
  const boards = boardsOf(runs)
  const names = [...new Set(runs.map(({ algorithm }) => algorithm))].filter((name) => name !== subject)
  const inGroup = (group: readonly string[]) => names.filter((name) => group.includes(name))
  const best = opponents(boards, names)
  const planned = opponents(boards, inGroup(planOnly))
  const own: Side = new Map([...boards].map(([instance, ofBoard]) => [instance, ofBoard.get(subject)]))
  const ratio = ratioOf(own, best)
  const rivals = new Map([...best].map(([instance, run]) => [instance, run?.algorithm ?? null]))
  const usual = mostFrequent([...rivals.values()].flatMap((name) => name ?? []))
  const combined = combineRepeatedRuns(runs)
  return {
    ...given({ set }),
    board,
    taskId,
    model,
    capW,
    own: combined.find(({ algorithm }) => algorithm === subject) ?? null,
    rival: combined.find(({ algorithm }) => algorithm === usual) ?? null,
    ratio,
    rivals,
    planning: ratioOf(planned, opponents(boards, inGroup(planLess))),
    control: planOnly.includes(subject) ? null : ratioOf(own, planned),
    outcome: outcomeOf([...own.values()].every(holds), usual !== undefined, ratio),
  }
}

function outcomeOf(ownHolds: boolean, hasRival: boolean, ratio: Ratio | null): Outcome {
  if (!ownHolds) return hasRival ? 'loss' : 'nobody'
  if (!hasRival || ratio === null) return 'no-opponent'
  const { value, spread } = ratio
  const touches = spread !== null && spread.low <= 1 && spread.high >= 1
  if (touches || Math.abs(value - 1) <= TIE_TOLERANCE) return 'tie'
  return value > 1 ? 'win' : 'loss'
}

function mostFrequent(names: readonly string[]): string | undefined {
  const count = (name: string) => names.filter((other) => other === name).length
  return [...new Set(names)].sort((a, b) => count(b) - count(a))[0]
}
