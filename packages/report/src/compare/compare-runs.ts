import { welchTest } from '@pctodl/numerics'
import type { RunRecord } from '../record/run-record.js'
import { groupBy } from '../verdict/group-by.js'
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

/** Windows of one run depend on each other, whole runs do not: where there are several runs, each is one observation. */
function observations(runs: readonly ComparedRun[], skip: number): Observations {
  const after = (values: readonly number[]) => values.slice(Math.min(skip, values.length - 1))
  const pick = (figures: (run: ComparedRun) => readonly number[]) =>
    runs.length === 1 ? after(figures(runs[0]!)) : runs.flatMap((run) => meanOrNull(after(figures(run))) ?? [])
  return { throughput: pick((run) => run.throughput), powerW: pick((run) => run.powerW) }
}
