import { factorise, inverseFromFactor } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import { type Colocation, type Members, throughputSum } from '../colocation.js'
import { fitVarianceComponents, multiply } from '../math/variance-components.js'
import type { Workload } from '../workload.js'
import { Calibration, spreadOf } from './calibration.js'
import type { FittedSlowdown } from './fitted-slowdown.js'
import type { ColocationPrediction } from './prediction.js'
import { type CompanyPoint, covarianceParts, SlowdownCovariance } from './slowdown-covariance.js'
import { SlowdownTable } from './slowdown-table.js'
import { companyExponent, type TrainingRow, trainingRows } from './training-rows.js'
import { WorkloadScaling } from './workload-kernels.js'

export interface SlowdownOptions {
  /** Draws the colocations that are used where there are more than fit `maxRows`. Default 1. */
  readonly seed?: number
  /** Most rows (distinct members of colocations) to learn from; time grows with the cube. Default 600. */
  readonly maxRows?: number
}

/** Rows to which the variances are fitted; more say little more and cost their cube in each step. */
const VARIANCE_ROWS = 160
const VARIANCE_STEPS = 40

/** Keeps the covariance invertible where the noise is estimated away; rows differ by far more. */
const JITTER = 1e-9

/**
 * How much of its throughput alone each member of a colocation keeps: Gaussian-process regression of
 * `log(kept share) / log2(members)` on who a member is and who is beside it. It knows no order, takes any number of members
 * and workloads it has never seen, and is scaled by its training rows alone.
 */
export class SlowdownModel {
  readonly name = 'slowdown model'
  readonly fitted: FittedSlowdown
  readonly #scaling: WorkloadScaling
  /** Inverse covariance of the rows, and its product with their centred exponents. */
  readonly #inverse: Float64Array
  readonly #weights: Float64Array
  readonly #calibration: Calibration

  constructor(fitted: FittedSlowdown) {
    this.fitted = fitted
    this.#scaling = new WorkloadScaling(fitted.workloads)
    const { rows, mean } = fitted
    const n = rows.length
    const covariance = this.#covarianceOfRows()
    factorise(covariance, n)
    this.#inverse = inverseFromFactor(covariance, n)
    this.#weights = multiply(
      this.#inverse,
      Float64Array.from(rows, ({ exponent }) => exponent - mean),
    )
    this.#calibration = Calibration.leaveOneOut(fitted, this.#inverse, this.#weights)
  }

  /**
   * Learn from measured colocations, of one or of several sizes.
   *
   * @throws InvalidInputError with fewer than two colocations, or where nothing varies
   */
  static fit(colocations: readonly Colocation[], { seed = 1, maxRows = 600 }: SlowdownOptions = {}): SlowdownModel {
    const all = trainingRows(colocations, maxRows, seed)
    const some = all.rows.slice(0, VARIANCE_ROWS)
    const mean = all.rows.reduce((sum, { exponent }) => sum + exponent, 0) / all.rows.length
    const scaling = new WorkloadScaling(all.workloads)
    const points = all.workloads.map((workload) => scaling.point(workload))
    const parts = partMatrices(new SlowdownCovariance(points), some)
    const observations = Float64Array.from(some, ({ exponent }) => exponent - mean)
    const { variances } = fitVarianceComponents(parts, observations, VARIANCE_STEPS)
    return new SlowdownModel({ ...all, mean, variances: [...variances] })
  }

  /**
   * @param members two or more; a workload may be there more than once
   * @param level probability with which each interval holds, by leave-one-out over the training colocations. Default 0.9
   * @throws InvalidInputError
   */
  predict(members: Members, level = 0.9): ColocationPrediction {
    if (members.length < 2) throw new InvalidInputError('members', members.length, 'at least two workloads')
    if (!(level > 0 && level < 1)) throw new InvalidInputError('level', level, 'a probability between 0 and 1')
    const names = members.map(({ name }) => name)
    const distinct = members.filter(({ name }, rank) => names.indexOf(name) === rank)
    const { covariance, indexOf } = this.#covarianceWith(distinct)
    const queries = distinct.map((member) => {
      const own = indexOf(member)
      const rank = names.indexOf(member.name)
      return { own, others: members.filter((_, other) => other !== rank).map(indexOf) }
    })
    const cross = queries.map((query) => this.#covarianceToRows(covariance, query))
    const company = companyExponent(members.length)
    const kept = cross.map((row) => Math.exp(company * (this.fitted.mean + dot(row, this.#weights))))
    const rankOf = members.map(({ name }) => distinct.findIndex((member) => member.name === name))
    const throughputs = members.map((member, i) => member.exclusiveThroughput * kept[rankOf[i]!]!)
    const sum = throughputSum({ throughputs })
    const learnt = this.fitted.rows.some(({ others }) => others.length === members.length - 1)
    return {
      members,
      keptShares: rankOf.map((d) => kept[d]!),
      throughputs,
      throughputSum: sum,
      ...(learnt
        ? this.#intervals(throughputs, rankOf, this.#posterior(covariance, queries, cross), level)
        : { throughputIntervals: null, throughputSumInterval: null }),
      weightedSpeedup: rankOf.reduce((total, d) => total + kept[d]!, 0),
    }
  }

  #intervals(
    throughputs: readonly number[],
    rankOf: readonly number[],
    variance: readonly (readonly number[])[],
    level: number,
  ): Pick<ColocationPrediction, 'throughputIntervals' | 'throughputSumInterval'> {
    const company = companyExponent(throughputs.length)
    const sum = throughputSum({ throughputs })
    const shareOfSum = variance.map(
      (_, d) => throughputs.reduce((total, throughput, i) => total + (rankOf[i] === d ? throughput : 0), 0) / sum,
    )
    return {
      throughputIntervals: throughputs.map((throughput, i) => {
        const d = rankOf[i]!
        return this.#calibration.memberInterval(throughput, company * spreadOf([1], [[variance[d]![d]!]]), level)
      }),
      throughputSumInterval: this.#calibration.sumInterval(sum, company * spreadOf(shareOfSum, variance), level),
    }
  }

  /** All that is needed to compare many colocations of these workloads quickly, without intervals. */
  slowdownTable(workloads: readonly Workload[]): SlowdownTable {
    const { covariance, indexOf } = this.#covarianceWith(workloads)
    const exponents = workloads.map((workload) =>
      Float64Array.from(workloads, (other) => {
        const row = this.#covarianceToRows(covariance, { own: indexOf(workload), others: [indexOf(other)] })
        return this.fitted.mean + dot(row, this.#weights)
      }),
    )
    return new SlowdownTable(workloads, exponents)
  }

  /** Of the exponents that were measured, n x n by rows, noise included. */
  #covarianceOfRows(): Float64Array {
    const { rows, workloads, variances } = this.fitted
    const n = rows.length
    const covariance = new SlowdownCovariance(workloads.map((workload) => this.#scaling.point(workload)))
    const [colocationNoise = 0, rowNoise = 0] = variances.slice(covarianceParts.length)
    const matrix = new Float64Array(n * n)
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        let value = covariance.between(rows[i]!, rows[j]!, variances)
        if (rows[i]!.colocation === rows[j]!.colocation) value += colocationNoise
        if (i === j) value += rowNoise / rows[i]!.count + JITTER
        matrix[i * n + j] = value
        matrix[j * n + i] = value
      }
    }
    return matrix
  }

  /** The covariance over the training workloads and others; a workload is known again by its name. */
  #covarianceWith(others: readonly Workload[]) {
    const trained = this.fitted.workloads
    const points = [...trained, ...others].map((workload) => this.#scaling.point(workload))
    const index = new Map(others.map((workload, i) => [workload.name, trained.length + i]))
    return {
      covariance: new SlowdownCovariance(points),
      indexOf: ({ name }: Workload) => index.get(name)!,
    }
  }

  #covarianceToRows(covariance: SlowdownCovariance, query: CompanyPoint): Float64Array {
    const { rows, variances } = this.fitted
    return Float64Array.from(rows, (row) => covariance.between(query, row, variances))
  }

  /** Covariance matrix of the exponents that would be measured for the queries, noise included. */
  #posterior(
    covariance: SlowdownCovariance,
    queries: readonly CompanyPoint[],
    cross: readonly Float64Array[],
  ): number[][] {
    const { variances } = this.fitted
    const colocationNoise = variances[covarianceParts.length]!
    const rowNoise = variances[covarianceParts.length + 1]!
    const explained = cross.map((row) => multiply(this.#inverse, row))
    return queries.map((a, i) =>
      queries.map((b, j) => {
        const noise = colocationNoise + (i === j ? rowNoise : 0)
        return covariance.between(a, b, variances) - dot(cross[i]!, explained[j]!) + noise
      }),
    )
  }
}

/** The parts of the covariance of the rows, n x n each, and the two kinds of noise. */
function partMatrices(covariance: SlowdownCovariance, rows: readonly TrainingRow[]): Float64Array[] {
  const n = rows.length
  const matrices = Array.from({ length: covarianceParts.length + 2 }, () => new Float64Array(n * n))
  const parts = new Float64Array(covarianceParts.length + 2)
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      covariance.writeParts(rows[i]!, rows[j]!, parts)
      parts[covarianceParts.length] = rows[i]!.colocation === rows[j]!.colocation ? 1 : 0
      parts[covarianceParts.length + 1] = i === j ? 1 / rows[i]!.count : 0
      for (let c = 0; c < parts.length; c++) {
        matrices[c]![i * n + j] = parts[c]!
        matrices[c]![j * n + i] = parts[c]!
      }
    }
  }
  return matrices
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
