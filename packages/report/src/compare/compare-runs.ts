import { welchTest } from '@pctodl/numerics'
import type { RunRecord } from '../record/run-record.js'
import { meanOrNull } from '../verdict/spread.js'

/** The windows of one run, by whatever name it is to be compared under. */
export interface ComparedRun {
  readonly run: string
  /** Samples/s, one per window. */
  readonly throughput: readonly number[]
  /** Mean power by the board's sensor, W, one per window that has it. */
  readonly powerW: readonly number[]
}

/** One run that two sides have in common, with what differs. */
export interface RunDifference {
  readonly run: string
  /** Means over the windows that count, samples/s. */
  readonly throughputA: number
  readonly throughputB: number
  /** Change from A to B, percent. */
  readonly throughputChangePercent: number
  /** Welch's test on the windows (or on the runs, where there are several of each); null where nothing can be tested. */
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

/** A run as it is compared. @param run what it is compared under, on both sides */
export function comparedRun(run: string, { windows }: Pick<RunRecord, 'windows'>): ComparedRun {
  return {
    run,
    throughput: windows.map(({ throughput }) => throughput),
    powerW: windows.flatMap(({ powerAverageW }) => powerAverageW ?? []),
  }
}

/**
 * Set runs side by side by their names; several of one name are repetitions.
 *
 * @param skip windows at the start of each run that do not count
 */
export function compareRuns(a: readonly ComparedRun[], b: readonly ComparedRun[], skip: number): Comparison {
  const [namesA, namesB] = [a, b].map((runs) => [...new Set(runs.map(({ run }) => run))]) as [string[], string[]]
  return {
    differences: namesA.filter((run) => namesB.includes(run)).map((run) => differenceOf(run, a, b, skip)),
    onlyInA: namesA.filter((run) => !namesB.includes(run)),
    onlyInB: namesB.filter((run) => !namesA.includes(run)),
  }
}

function differenceOf(run: string, a: readonly ComparedRun[], b: readonly ComparedRun[], skip: number): RunDifference {
  const of = (runs: readonly ComparedRun[]) =>
    observations(
      runs.filter((other) => other.run === run),
      skip,
    )
  const [ofA, ofB] = [of(a), of(b)]
  const [throughputA, throughputB] = [meanOrNull(ofA.throughput) ?? 0, meanOrNull(ofB.throughput) ?? 0]
  return {
    run,
    throughputA,
    throughputB,
    throughputChangePercent: 100 * (throughputB / throughputA - 1),
    pValue: welchTest(ofA.throughput, ofB.throughput),
    powerAW: meanOrNull(ofA.powerW),
    powerBW: meanOrNull(ofB.powerW),
  }
}

/** Windows of one run depend on each other, whole runs do not: where there are several runs, each is one observation. */
function observations(runs: readonly ComparedRun[], skip: number) {
  const after = (values: readonly number[]) => values.slice(Math.min(skip, values.length - 1))
  const pick = (figures: (run: ComparedRun) => readonly number[]) =>
    runs.length === 1 ? after(figures(runs[0]!)) : runs.flatMap((run) => meanOrNull(after(figures(run))) ?? [])
  return { throughput: pick((run) => run.throughput), powerW: pick((run) => run.powerW) }
}
