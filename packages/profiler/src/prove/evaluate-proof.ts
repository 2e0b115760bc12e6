import { quantile } from '@pctodl/numerics'
import type { PerfModel, PerfModelParameters } from '@pctodl/perf-model'
import { type GpuSpec, PctodlError } from '@pctodl/platform'
import type { ProfileRow } from '../measure/profile-row.js'

const FEWEST_TO_FIT = 40
const FEWEST_TO_TEST = 10
/**
 * Probability, 0..1, that a value is below a predicted interval, and that it is above the interval. Also the accepted
 * probability that a plan exceeds its cap.
 */
const RISK = 0.05

interface Errors {
  readonly medianPercent: number
  readonly p95Percent: number
  /** Percentage of the measured values that lie between the predicted 5 % and 95 % quantiles. */
  readonly coveragePercent: number
}

export interface ProofEvaluation {
  readonly fitted: number
  readonly tested: number
  readonly throughput: Errors
  readonly power: Errors
  /**
   * Number of tested mixes whose measured power exceeds the predicted 95 % quantile, which a planner would use at a
   * risk of 5 %.
   */
  readonly plansAtRisk: number
  readonly predictions: readonly {
    readonly row: number
    readonly smClockMhz: number
    readonly throughput: number
    readonly powerW: number
    readonly throughputInterval: readonly [number, number]
    readonly powerIntervalW: readonly [number, number]
  }[]
}

export interface ProofResult {
  readonly evaluation: ProofEvaluation | null
  /** A sentence that says why there is no evaluation; null if there is one. */
  readonly notEvaluated: string | null
  readonly parameters: PerfModelParameters | null
}

export const isToFit = ({ sweep }: ProfileRow): boolean => sweep === 'mixes' || sweep === 'pairs' || sweep === 'single'
export const isToTest = ({ sweep }: ProfileRow): boolean => sweep === 'test'

/**
 * Fits the predictor to the rows for fitting, then predicts the test mixes without using their measurements. If a test
 * row locked no SM clock, the highest clock whose predicted power is within the board's limit is assumed.
 */
export async function evaluateProof(
  rows: readonly ProfileRow[],
  spec: GpuSpec,
  powerLimitW: number,
): Promise<ProofResult> {
  const toFit = rows.filter((row) => isToFit(row) && !row.failed)
  const networks = new Set(toFit.flatMap(({ tenants }) => tenants.map(({ model }) => model)))
  const toTest = rows.filter(
    (row) => isToTest(row) && !row.failed && row.tenants.every(({ model }) => networks.has(model)),
  )
  try {
    if (toFit.length < FEWEST_TO_FIT || toTest.length < FEWEST_TO_TEST) {
      const counts = `${toFit.length} rows to fit and ${toTest.length} to test`
      throw new PctodlError('TOO_FEW_ROWS', `${counts}: too few (${FEWEST_TO_FIT} and ${FEWEST_TO_TEST})`)
    }
    const { fitPerfModel, PerfModel } = await import('@pctodl/perf-model').catch((cause: unknown) => {
      const problem = '@pctodl/perf-model is not installed: npm install @pctodl/perf-model'
      throw new PctodlError('MISSING_PACKAGE', problem, { cause })
    })
    const { parameters } = fitPerfModel(toFit, spec, { source: 'pctodl prove', starts: 1 })
    const model = new PerfModel(parameters, spec)
    return { evaluation: compare(model, toFit.length, toTest, powerLimitW), notEvaluated: null, parameters }
  } catch (error) {
    if (error instanceof PctodlError) return { evaluation: null, notEvaluated: error.message, parameters: null }
    throw error
  }
}

function compare(
  model: PerfModel,
  fitted: number,
  toTest: readonly ProfileRow[],
  powerLimitW: number,
): ProofEvaluation {
  const predictions = toTest.map((row) => {
    const { tenants, memClockMhz } = row
    const within = model.solveSmClock(tenants, memClockMhz, powerLimitW) ?? model.spec.clockStates[0]!.smClocksMhz[0]!
    const smClockMhz = Math.min(row.targetSmClockMhz ?? Number.POSITIVE_INFINITY, within)
    const configuration = { tenants, smClockMhz, memClockMhz }
    const { throughput, powerW } = model.predict(configuration)
    const between = model.quantiles(configuration, [RISK, 1 - RISK])
    return {
      row: row.row,
      smClockMhz,
      throughput,
      powerW,
      throughputInterval: [between.throughput[0]!, between.throughput[1]!] as const,
      powerIntervalW: [between.powerW[0]!, between.powerW[1]!] as const,
    }
  })
  const errors = (
    measured: 'throughput' | 'powerAverageW',
    predicted: 'throughput' | 'powerW',
    interval: 'throughputInterval' | 'powerIntervalW',
  ): Errors => {
    const relative = toTest.map((row, i) => 100 * Math.abs(predictions[i]![predicted] / row[measured] - 1))
    const covered = toTest.filter((row, i) => {
      const [low, high] = predictions[i]![interval]
      return row[measured] >= low && row[measured] <= high
    })
    return {
      medianPercent: quantile(relative, 0.5),
      p95Percent: quantile(relative, 0.95),
      coveragePercent: (100 * covered.length) / toTest.length,
    }
  }
  return {
    fitted,
    tested: toTest.length,
    throughput: errors('throughput', 'throughput', 'throughputInterval'),
    power: errors('powerAverageW', 'powerW', 'powerIntervalW'),
    plansAtRisk: toTest.filter((row, i) => row.powerAverageW > predictions[i]!.powerIntervalW[1]).length,
    predictions,
  }
}
