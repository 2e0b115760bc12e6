import { type LeftOutGroup, LowRankProcess } from '@pctodl/numerics'
import { assertInput } from '../input-checks.js'
import type { Workload } from '../workload.js'
import { COVARIANCE_PARTS, type CoRunnerRow, SlowdownCovariance } from './slowdown-covariance.js'
import { colocationSpans, type TrainingRow } from './training-rows.js'
import { type KernelPoint, pointsScaledBy } from './workload-kernels.js'

export interface FittedProcess {
  readonly workloads: readonly Workload[]
  readonly rows: readonly TrainingRow[]
  /** Mean of the rows' exponents. */
  readonly mean: number
  /** Variance of each part of the covariance, then the noise variance per colocation and per row. */
  readonly variances: readonly number[]
}

/** Means and covariances of exponents for a fixed list of workloads. */
export interface ProcessView {
  row(own: Workload, others: readonly Workload[]): CoRunnerRow
  mean(row: CoRunnerRow): number
  /** Covariance of measurements, noise included. The rows must be different members of one colocation. */
  covarianceOf(rows: readonly CoRunnerRow[]): number[][]
}

/** Gaussian process of slowdown exponents, as a function of a member and its co-runners. */
export class CoRunnerProcess {
  readonly #fitted: FittedProcess
  readonly #point: (workload: Workload) => KernelPoint
  readonly #process: LowRankProcess
  readonly #pivotRows: readonly CoRunnerRow[]

  constructor(fitted: FittedProcess, maxRank: number) {
    this.#fitted = fitted
    const { workloads, rows, variances, mean } = fitted
    const count = COVARIANCE_PARTS + 2
    const expected = `${count}, as this version fits; fit the model again`
    assertInput(variances.length === count, 'variances.length', variances.length, expected)
    this.#point = pointsScaledBy(workloads)
    const covariance = new SlowdownCovariance(workloads.map(this.#point))
    const coRunnerRows = rows.map(({ own, others }) => covariance.row(own, others))
    const [groupNoise = 0, rowNoise = 0] = variances.slice(COVARIANCE_PARTS)
    this.#process = new LowRankProcess(
      {
        values: Float64Array.from(rows, ({ exponent }) => exponent - mean),
        covariance: (a, b) => covariance.between(coRunnerRows[a]!, coRunnerRows[b]!, variances),
        groups: colocationSpans(rows),
        groupNoise,
        noise: Float64Array.from(rows, ({ count }) => rowNoise / count),
      },
      maxRank,
    )
    this.#pivotRows = [...this.#process.pivots].map((pivot) => coRunnerRows[pivot]!)
  }

  /** Predicts every training colocation from all others, in closed form. */
  leaveEachOut(): LeftOutGroup[] {
    return this.#process.leaveEachOut()
  }

  /** Predict the colocations with any of these workloads (by index) from all others. */
  leaveOut(left: readonly number[]): LeftOutGroup[] {
    const { rows } = this.#fitted
    const isLeft = colocationSpans(rows).map(([begin]) => {
      const { own, others } = rows[begin]!
      return left.includes(own) || others.some((other) => left.includes(other))
    })
    return this.#process.leaveOut((group) => isLeft[group]!)
  }

  /** Prepares predictions for a list of workloads. Workloads of the training data are recognised by name. */
  view(workloads: readonly Workload[]): ProcessView {
    const { workloads: trained, variances, mean } = this.#fitted
    const covariance = new SlowdownCovariance([...trained, ...workloads].map(this.#point))
    const index = new Map(workloads.map(({ name }, i) => [name, trained.length + i]))
    const toPivots = (row: CoRunnerRow) =>
      Float64Array.from(this.#pivotRows, (pivot) => covariance.between(row, pivot, variances))
    const indexOf = ({ name }: Workload) => index.get(name)!
    return {
      row: (own, others) => covariance.row(indexOf(own), others.map(indexOf)),
      mean: (row) => mean + this.#process.mean(toPivots(row)),
      covarianceOf: (rows) => {
        const [groupNoise = 0, rowNoise = 0] = variances.slice(COVARIANCE_PARTS)
        const own = rows.map((row) => covariance.between(row, row, variances))
        return this.#process
          .covariance(rows.map(toPivots), own)
          .map((row, i) => row.map((value, j) => value + groupNoise + (i === j ? rowNoise : 0)))
      },
    }
  }
}
