import { welchTest } from '@pctodl/numerics'
import { groupBy } from '@pctodl/platform'
import { meanOrNull } from '../verdict/spread.js'

/** Figures of the windows of a run. */
interface Observations {
  /** Throughput of each window, samples/s. */
  readonly throughput: readonly number[]
  /** Mean power of each window by the sensor, W; windows without readings are omitted. */
  readonly powerW: readonly number[]
}

/** The windows of one run, and the name that identifies the run in a comparison. */
export interface ComparedRun extends Observations {
  readonly run: string
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
  const differences = [...ofA.keys()]
    .filter((run) => ofB.has(run))
    .map((run): RunDifference => {
      const [before, after] = [observations(ofA.get(run)!, skip), observations(ofB.get(run)!, skip)]
      const [throughputA, throughputB] = [meanOrNull(before.throughput) ?? 0, meanOrNull(after.throughput) ?? 0]
      return {
        run,
        throughputA,
        throughputB,
        throughputChangePercent: throughputA > 0 ? 100 * (throughputB / throughputA - 1) : null,
        pValue: welchTest(before.throughput, after.throughput),
        powerAW: meanOrNull(before.powerW),
        powerBW: meanOrNull(after.powerW),
      }
    })
  return {
    differences,
    onlyInA: [...ofA.keys()].filter((run) => !ofB.has(run)),
    onlyInB: [...ofB.keys()].filter((run) => !ofA.has(run)),
  }
}

/**
 * Windows of one run are correlated, but whole runs are independent. So if a side has several runs, each run is one
 * observation.
 */
function observations(runs: readonly ComparedRun[], skip: number): Observations {
  const pick = (figure: keyof Observations) => {
    const kept = runs.map((run) => run[figure].slice(Math.min(skip, run[figure].length - 1)))
    return kept.length === 1 ? kept[0]! : kept.flatMap((values) => meanOrNull(values) ?? [])
  }
  return { throughput: pick('throughput'), powerW: pick('powerW') }
}
