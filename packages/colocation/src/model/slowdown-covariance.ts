import { type KernelPoint, type WorkloadKernelName, workloadKernelNames, writeKernels } from './workload-kernels.js'

/** What a row is to the covariance: who, beside whom (indices of points). */
export interface CompanyPoint {
  readonly own: number
  readonly others: readonly number[]
}

/**
 * A part of the covariance of two rows: the similarity of the workloads themselves, of their company, of both (the product),
 * or 1 for all rows. The similarity of two companies is the mean over all pairs of one from each (kernel mean embedding),
 * which knows no order and takes any number.
 */
interface CovariancePart {
  readonly own?: WorkloadKernelName
  readonly others?: WorkloadKernelName
}

/** Chosen by cross-validation inside training rows; the README tells how. */
export const covarianceParts: readonly CovariancePart[] = [
  {},
  { own: 'rough' },
  { own: 'smooth' },
  { own: 'identity' },
  { others: 'rough' },
  { others: 'smooth' },
  { others: 'identity' },
  { own: 'smooth', others: 'smooth' },
  { own: 'identity', others: 'linear' },
  { own: 'linear', others: 'identity' },
  { own: 'identity', others: 'size' },
  { own: 'size', others: 'identity' },
]

const KERNELS = workloadKernelNames.length
const ONE = KERNELS
const kernelIndex = (name: WorkloadKernelName | undefined) =>
  name === undefined ? ONE : workloadKernelNames.indexOf(name)
const ownIndex = covarianceParts.map((part) => kernelIndex(part.own))
const othersIndex = covarianceParts.map((part) => kernelIndex(part.others))

/** Similarities of all points to each other, from which the covariance of any two rows follows. */
export class SlowdownCovariance {
  readonly #size: number
  /** `KERNELS + 1` values per pair of points; the last is 1. */
  readonly #table: Float64Array
  readonly #others = new Float64Array(KERNELS + 1)

  constructor(points: readonly KernelPoint[]) {
    const stride = KERNELS + 1
    this.#size = points.length
    this.#table = new Float64Array(points.length ** 2 * stride)
    points.forEach((a, i) => {
      points.forEach((b, j) => {
        const offset = (i * points.length + j) * stride
        writeKernels(a, b, this.#table, offset)
        this.#table[offset + ONE] = 1
      })
    })
  }

  /** Value of each part for two rows, written to `out`. */
  writeParts(a: CompanyPoint, b: CompanyPoint, out: Float64Array): void {
    const own = this.#offset(a.own, b.own)
    this.#meanOverOthers(a, b)
    for (let c = 0; c < covarianceParts.length; c++) {
      out[c] = this.#table[own + ownIndex[c]!]! * this.#others[othersIndex[c]!]!
    }
  }

  /** Covariance of two rows. */
  between(a: CompanyPoint, b: CompanyPoint, variances: readonly number[]): number {
    const own = this.#offset(a.own, b.own)
    this.#meanOverOthers(a, b)
    let sum = 0
    for (let c = 0; c < covarianceParts.length; c++) {
      sum += variances[c]! * this.#table[own + ownIndex[c]!]! * this.#others[othersIndex[c]!]!
    }
    return sum
  }

  #offset(i: number, j: number): number {
    return (i * this.#size + j) * (KERNELS + 1)
  }

  #meanOverOthers(a: CompanyPoint, b: CompanyPoint): void {
    const mean = this.#others.fill(0)
    const pairs = a.others.length * b.others.length
    for (let p = 0; p < a.others.length; p++) {
      for (let q = 0; q < b.others.length; q++) {
        const offset = this.#offset(a.others[p]!, b.others[q]!)
        for (let kernel = 0; kernel <= KERNELS; kernel++) mean[kernel]! += this.#table[offset + kernel]! / pairs
      }
    }
  }
}
