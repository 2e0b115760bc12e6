import {
  type KernelPoint,
  matern,
  type WorkloadKernelName,
  workloadKernelNames,
  writeKernels,
} from './workload-kernels.js'

/**
 * How alike two groups of co-runners are: the mean over all pairs of one from each of how alike these are (kernel mean embedding; what a
 * group does is then the mean of what its members do), or, for what members do only together, by the means of their
 * features (`blend`) or by the largest and the least of each feature (`extremes`). None knows an order; all take any number.
 */
const othersKernelNames = [...workloadKernelNames, 'blend', 'extremes'] as const
type OthersKernelName = (typeof othersKernelNames)[number]

/**
 * A part of the covariance of two rows: the similarity of the workloads themselves, of their co-runners, or of both (the product);
 * 1 for all rows where neither is named.
 */
interface CovariancePart {
  readonly own?: WorkloadKernelName
  readonly others?: OthersKernelName
}

/** Chosen by cross-validation inside training rows; the README tells how. */
const sharedParts: readonly CovariancePart[] = [
  {},
  { own: 'rough' },
  { own: 'smooth' },
  { own: 'kin' },
  { own: 'identity' },
  { others: 'rough' },
  { others: 'smooth' },
  { others: 'kin' },
  { others: 'identity' },
  { others: 'blend' },
  { others: 'extremes' },
  { own: 'smooth', others: 'smooth' },
  { own: 'kin', others: 'smooth' },
  { own: 'identity', others: 'linear' },
  { own: 'linear', others: 'identity' },
  { own: 'identity', others: 'size' },
  { own: 'size', others: 'identity' },
  { own: 'identity', others: 'identity' },
  { own: 'smooth', others: 'blend' },
  { own: 'identity', others: 'blend' },
  { own: 'identity', others: 'extremes' },
]

/**
 * Each part is there twice: once for what holds whatever the number of members, and once for what changes with it, which
 * triples and quadruples share more of than pairs and quadruples.
 */
const parts = [
  ...sharedParts.map((part) => ({ ...part, bySize: false })),
  ...sharedParts.map((part) => ({ ...part, bySize: true })),
]

/** Number of parts; those from `SHARED_PARTS` on say nothing where all rows are of one size. */
export const COVARIANCE_PARTS: number = parts.length
export const SHARED_PARTS: number = sharedParts.length

/** Standard deviation of the similarity of two sizes, in doublings of the number of members. */
const SIZE_LENGTH = 0.5

const OWN_STRIDE = workloadKernelNames.length + 1
const OTHERS = othersKernelNames.length
const BLEND = othersKernelNames.indexOf('blend')
const EXTREMES = othersKernelNames.indexOf('extremes')
const ownIndex = parts.map(({ own }) => (own === undefined ? OWN_STRIDE - 1 : workloadKernelNames.indexOf(own)))
const othersIndex = parts.map(({ others }) => (others === undefined ? OTHERS : othersKernelNames.indexOf(others)))

/** What a row is to the covariance: who, beside whom. Made by `SlowdownCovariance.row`. */
export interface CoRunnerRow {
  /** Index of the point. */
  readonly own: number
  /** Indices of the points beside it. */
  readonly others: readonly number[]
  /** Mean of each feature over the others. */
  readonly blend: Float64Array
  /** Largest, then least of each feature over the others. */
  readonly extremes: Float64Array
  readonly doublings: number
}

/** Similarities of all points to each other, from which the covariance of any two rows follows. */
export class SlowdownCovariance {
  readonly #points: readonly KernelPoint[]
  /** `OWN_STRIDE` values per pair of points; the last is 1. */
  readonly #table: Float64Array
  readonly #others = new Float64Array(OTHERS + 1).fill(1)

  constructor(points: readonly KernelPoint[]) {
    this.#points = points
    this.#table = new Float64Array(points.length ** 2 * OWN_STRIDE).fill(1)
    points.forEach((a, i) => {
      points.forEach((b, j) => {
        writeKernels(a, b, this.#table, (i * points.length + j) * OWN_STRIDE)
      })
    })
  }

  row(own: number, others: readonly number[]): CoRunnerRow {
    const features = this.#points[own]!.features.length - 1
    const blend = new Float64Array(features)
    const extremes = new Float64Array(2 * features)
    extremes.fill(-Infinity, 0, features).fill(Infinity, features)
    for (const other of others) {
      // The first feature, shared memory, serves the size kernel alone.
      const point = this.#points[other]!.features.subarray(1)
      for (let j = 0; j < features; j++) {
        blend[j]! += point[j]! / others.length
        extremes[j] = Math.max(extremes[j]!, point[j]!)
        extremes[features + j] = Math.min(extremes[features + j]!, point[j]!)
      }
    }
    return { own, others, blend, extremes, doublings: Math.log2(others.length + 1) }
  }

  /** Value of each part for two rows, written to `out`. */
  writeParts(a: CoRunnerRow, b: CoRunnerRow, out: Float64Array): void {
    const own = this.#offset(a.own, b.own)
    const sizes = this.#writeOthers(a, b)
    for (let c = 0; c < COVARIANCE_PARTS; c++) {
      out[c] = this.#table[own + ownIndex[c]!]! * this.#others[othersIndex[c]!]! * (c < SHARED_PARTS ? 1 : sizes)
    }
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

  /** Similarities of the groups of co-runners to `#others`; returns that of their sizes. */
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
    out[BLEND] = matern(rootMeanSquare(a.blend, b.blend))
    out[EXTREMES] = matern(rootMeanSquare(a.extremes, b.extremes))
    return Math.exp(-(((a.doublings - b.doublings) / SIZE_LENGTH) ** 2) / 2)
  }
}

function rootMeanSquare(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let j = 0; j < a.length; j++) {
    const difference = a[j]! - b[j]!
    sum += difference * difference
  }
  return Math.sqrt(sum / a.length)
}
