import { welchTest } from '@pctodl/numerics'
import { groupBy } from '@pctodl/platform'
import { meanOrNull } from '../verdict/spread.js'

/** The windows of one run, and the name that identifies the run in a comparison. */
export interface ComparedRun {
  readonly run: string
  /** Throughput of each window, samples/s. */
  readonly throughput: readonly number[]
  /** Mean power of each window by the sensor, W; windows without readings are omitted. */
  readonly powerW: readonly number[]
}

/** Differences between side A and side B for runs of one name. */
export interface RunDifference {
  readonly run: string
  /** Mean throughput on side A over the windows that are not skipped, samples/s. */
  readonly throughputA: number
  readonly throughputB: number
  /** Change of mean throughput from side A to side B, percent; null if side A completed nothing. */
  readonly throughputChangePercent: number | null
  /**
   * p-value of Welch's t-test between the sides. Observations are runs if each side has several runs of this name,
   * otherwise windows. Null if no test is possible.
   */
  readonly pValue: number | null
  readonly powerAW: number | null
  readonly powerBW: number | null
}

export interface Comparison {
  readonly differences: readonly RunDifference[]
  /** Names of the runs that only one of the two sides has. */
  readonly onlyInA: readonly string[]
  readonly onlyInB: readonly string[]
}

/**
 * Compares runs that have the same name on both sides. Several runs of one name are repetitions.
 *
 * @param skip number of windows at the start of each run that are ignored
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
    throughputChangePercent: throughputA > 0 ? 100 * (throughputB / throughputA - 1) : null,
    pValue: welchTest(a.throughput, b.throughput),
    powerAW: meanOrNull(a.powerW),
    powerBW: meanOrNull(b.powerW),
  }
}

type Observations = Pick<ComparedRun, 'throughput' | 'powerW'>

/**
 * Windows of one run are correlated, but whole runs are independent. So if a side has several runs, each run is one
 * observation.
 */
function observations(runs: readonly ComparedRun[], skip: number): Observations {
  const after = (values: readonly number[]) => values.slice(Math.min(skip, values.length - 1))
  const pick = (figures: (run: ComparedRun) => readonly number[]) =>
    runs.length === 1 ? after(figures(runs[0]!)) : runs.flatMap((run) => meanOrNull(after(figures(run))) ?? [])
  return { throughput: pick((run) => run.throughput), powerW: pick((run) => run.powerW) }
}
