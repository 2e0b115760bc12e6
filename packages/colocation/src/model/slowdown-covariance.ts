import { distance, type KernelPoint, matern, type WorkloadKernelName, workloadKernels } from './workload-kernels.js'

const kernelNames = Object.keys(workloadKernels) as WorkloadKernelName[]

/**
 * A term of the covariance of two rows. It is the similarity of the two workloads, the similarity of their co-runners,
 * or the product of both; with neither, it is 1.
 *
 * The similarity of two groups of co-runners depends neither on the order nor on the number of members. A workload
 * kernel is averaged over all pairs with one workload from each group (kernel mean embedding); this suits effects that
 * average over members. `blend` compares the mean features of the groups; this suits joint effects.
 */
interface CovariancePart {
  readonly own?: WorkloadKernelName
  readonly others?: WorkloadKernelName | 'blend'
}

/** The terms were chosen by cross-validation within training rows. */
const single = ['rough', 'smooth', 'kin', 'identity'] as const
const sharedParts: readonly CovariancePart[] = [
  {},
  ...single.map((own) => ({ own })),
  ...[...single, 'blend' as const].map((others) => ({ others })),
  { own: 'smooth', others: 'smooth' },
  { own: 'kin', others: 'smooth' },
  { own: 'identity', others: 'linear' },
  { own: 'linear', others: 'identity' },
  { own: 'identity', others: 'identity' },
  { own: 'smooth', others: 'blend' },
  { own: 'identity', others: 'blend' },
  { own: 'pace' },
]

/** Number of parts for effects common to all group sizes. The list of variances begins with these parts. */
export const SHARED_PARTS: number = sharedParts.length
/**
 * Number of variances. Each part occurs twice: for effects common to all sizes, and for effects that change with size.
 * The second kind correlates more between triples and quadruples than between pairs and quadruples. It carries no
 * information if all rows have one size.
 */
export const COVARIANCE_PARTS: number = 2 * SHARED_PARTS

/** Length scale of the similarity of two sizes, in doublings of the number of members. */
const SIZE_LENGTH = 0.5

const OWN_STRIDE = kernelNames.length + 1
const OTHERS = kernelNames.length + 1
const BLEND = kernelNames.length
const ownIndex = sharedParts.map(({ own }) => (own === undefined ? OWN_STRIDE - 1 : kernelNames.indexOf(own)))
const othersIndex = sharedParts.map(({ others }) =>
  others === undefined ? OTHERS : others === 'blend' ? BLEND : kernelNames.indexOf(others),
)

/** A row as input of the covariance: a workload and its co-runners. Made by `SlowdownCovariance.row`. */
export interface CoRunnerRow {
  /** Index of the workload's point. */
  readonly own: number
  readonly others: readonly number[]
  /** Mean of each feature over the others. */
  readonly blend: Float64Array
  readonly doublings: number
}

/** Kernel values of all pairs of points, from which the covariance of any two rows follows. */
export class SlowdownCovariance {
  readonly #points: readonly KernelPoint[]
  /** Kernel values, `OWN_STRIDE` for each pair of points: one per workload kernel, then the constant 1. */
  readonly #table: Float64Array
  readonly #others = new Float64Array(OTHERS + 1).fill(1)
  readonly #parts = new Float64Array(COVARIANCE_PARTS)

  constructor(points: readonly KernelPoint[]) {
    this.#points = points
    this.#table = new Float64Array(points.length ** 2 * OWN_STRIDE).fill(1)
    points.forEach((a, i) => {
      points.forEach((b, j) => {
        kernelNames.forEach((name, kernel) => {
          this.#table[this.#offset(i, j) + kernel] = workloadKernels[name](a, b)
        })
      })
    })
  }

  row(own: number, others: readonly number[]): CoRunnerRow {
    const blend = new Float64Array(this.#points[own]!.features.length)
    for (const other of others) {
      this.#points[other]!.features.forEach((value, j) => {
        blend[j]! += value / others.length
      })
    }
    return { own, others, blend, doublings: Math.log2(others.length + 1) }
  }

  /** Value of each part for two rows; valid until the next call. */
  partsOf(a: CoRunnerRow, b: CoRunnerRow): Float64Array {
    const own = this.#offset(a.own, b.own)
    const sizes = this.#writeOthers(a, b)
    for (let c = 0; c < SHARED_PARTS; c++) {
      const value = this.#table[own + ownIndex[c]!]! * this.#others[othersIndex[c]!]!
      this.#parts[c] = value
      this.#parts[SHARED_PARTS + c] = value * sizes
    }
    return this.#parts
  }

  /** Covariance of two rows. */
  between(a: CoRunnerRow, b: CoRunnerRow, variances: readonly number[]): number {
    const own = this.#offset(a.own, b.own)
    const sizes = this.#writeOthers(a, b)
    let sum = 0
    for (let c = 0; c < SHARED_PARTS; c++) {
      const variance = variances[c]! + sizes * variances[SHARED_PARTS + c]!
      if (variance > 0) sum += variance * this.#table[own + ownIndex[c]!]! * this.#others[othersIndex[c]!]!
    }
    return sum
  }

  #offset(i: number, j: number): number {
    return (i * this.#points.length + j) * OWN_STRIDE
  }

  /** Write the similarities of the co-runner groups to `#others`; returns the similarity of their sizes. */
  #writeOthers(a: CoRunnerRow, b: CoRunnerRow): number {
    const out = this.#others
    out.fill(0, 0, OTHERS)
    const pairs = a.others.length * b.others.length
    for (let p = 0; p < a.others.length; p++) {
      for (let q = 0; q < b.others.length; q++) {
        const offset = this.#offset(a.others[p]!, b.others[q]!)
        for (let kernel = 0; kernel < OWN_STRIDE - 1; kernel++) out[kernel]! += this.#table[offset + kernel]!
      }
    }
    for (let kernel = 0; kernel < OWN_STRIDE - 1; kernel++) out[kernel]! /= pairs
    out[BLEND] = matern(distance(a.blend, b.blend))
    return Math.exp(-(((a.doublings - b.doublings) / SIZE_LENGTH) ** 2) / 2)
  }
}
