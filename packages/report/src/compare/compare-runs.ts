import { welchTest } from '@pctodl/numerics'
import type { RunRecord } from '../record/run-record.js'
import { groupBy } from '../verdict/group-by.js'
import { meanOrNull } from '../verdict/spread.js'

/** The windows of one run, with the name under which it is compared. */
export interface ComparedRun {
  readonly run: string
  /** Samples/s, one per window. */
  readonly throughput: readonly number[]
  /** Mean power by the board's sensor, W, for each window that has it. */
  readonly powerW: readonly number[]
}

/** A run that both sides have, with the differences. */
export interface RunDifference {
  readonly run: string
  /** Means over the counted windows, samples/s. */
  readonly throughputA: number
  readonly throughputB: number
  /** Change from A to B, percent. */
  readonly throughputChangePercent: number
  /**
   * p-value of Welch's test on the windows, or on the runs where there are several of each; null if no test is
   * possible.
   */
  readonly pValue: number | null
  readonly powerAW: number | null
  readonly powerBW: number | null
}

export interface Comparison {
  readonly differences: readonly RunDifference[]
  /** Names of the runs that only one side has. */
  readonly onlyInA: readonly string[]
  readonly onlyInB: readonly string[]
}

/**
 * A run for comparison.
 *
 * @param run name under which it is compared
 */
export function comparedRun(run: string, { windows }: Pick<RunRecord, 'windows'>): ComparedRun {
  return {
    run,
    throughput: windows.map(({ throughput }) => throughput),
    powerW: windows.flatMap(({ powerAverageW }) => powerAverageW ?? []),
  }
}

/**
 * Compare runs of equal names; several of one name are repetitions.
 *
 * @param skip windows at the start of each run that do not count
 */
export function compareRuns(a: readonly ComparedRun[], b: readonly ComparedRun[], skip: number): Comparison {
  const byName = (runs: readonly ComparedRun[]) => groupBy(runs, ({ run }) => run)
  const [ofA, ofB] = [byName(a), byName(b)]
  return {
    differences: [...ofA].flatMap(([run, runs]) =>
      ofB.has(run) ? [differenceOf(run, observations(runs, skip), observations(ofB.get(run)!, skip))] : [],
    ),
    onlyInA: [...ofA.keys()].filter((run) => !ofB.has(run)),
    onlyInB: [...ofB.keys()].filter((run) => !ofA.has(run)),
  }
}

function differenceOf(run: string, a: Observations, b: Observations): RunDifference {
  const [throughputA, throughputB] = [meanOrNull(a.throughput) ?? 0, meanOrNull(b.throughput) ?? 0]
  return {
    run,
    throughputA,
    throughputB,
    throughputChangePercent: 100 * (throughputB / throughputA - 1),
    pValue: welchTest(a.throughput, b.throughput),
    powerAW: meanOrNull(a.powerW),
    powerBW: meanOrNull(b.powerW),
  }
}

type Observations = Pick<ComparedRun, 'throughput' | 'powerW'>

/** Windows of one run are correlated, whole runs are not: where there are several runs, each is one observation. */
function observations(runs: readonly ComparedRun[], skip: number): Observations {
  const after = (values: readonly number[]) => values.slice(Math.min(skip, values.length - 1))
  const pick = (figures: (run: ComparedRun) => readonly number[]) =>
    runs.length === 1 ? after(figures(runs[0]!)) : runs.flatMap((run) => meanOrNull(after(figures(run))) ?? [])
  return { throughput: pick((run) => run.throughput), powerW: pick((run) => run.powerW) }
}
