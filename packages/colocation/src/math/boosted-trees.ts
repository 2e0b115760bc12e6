/** Trees of depth 3, whose leaves add up, as plain values that go through JSON. */
export interface BoostedTrees {
  readonly base: number
  /** Of tree t at 7t: the feature that each inner node asks, root first, then the next level from left to right. */
  readonly features: readonly number[]
  /** Of the same node: a row goes right where its feature is above; null sends all rows left. */
  readonly thresholds: readonly (number | null)[]
  /** Of tree t at 8t: what each leaf adds, from left to right. */
  readonly leaves: readonly number[]
}

const DEPTH = 3
const NODES = 2 ** DEPTH - 1
const LEAVES = 2 ** DEPTH

/** Most values of a feature that are told apart; more are put together by equal counts. */
const MOST_BINS = 32

interface BoostingOptions {
  readonly trees: number
  /** Part of its mean residual that a leaf adds. */
  readonly rate: number
}

/**
 * Gradient-boosted regression trees for squared error (Friedman 2001): each tree is fitted to what the trees before it left,
 * by the split of largest gain at each node. Nothing is drawn, so the same rows give the same trees.
 *
 * @param rows n x columns by rows
 * @param weights of the rows, above 0
 */
export function fitBoostedTrees(
  rows: Float64Array,
  columns: number,
  targets: Float64Array,
  weights: Float64Array,
  { trees, rate }: BoostingOptions,
): BoostedTrees {
  const n = targets.length
  const { bins, edges } = binned(rows, columns, n)
  let total = 0
  let base = 0
  for (let i = 0; i < n; i++) {
    total += weights[i]!
    base += weights[i]! * targets[i]!
  }
  base /= total
  const left = Float64Array.from(targets, (target) => target - base)
  const nodeOf = new Uint8Array(n)
  // Of each node, column and bin the sum of what is left and the weight, side by side.
  const stride = 2 * columns * MOST_BINS
  const sums = new Float64Array((LEAVES / 2) * stride)
  const cells = new Int32Array(n * columns)
  for (let i = 0, cell = 0; i < n; i++) {
    for (let j = 0; j < columns; j++, cell++) cells[cell] = 2 * (j * MOST_BINS + bins[cell]!)
  }
  const features: number[] = []
  const thresholds: (number | null)[] = []
  const leaves: number[] = []
  for (let tree = 0; tree < trees; tree++) {
    nodeOf.fill(0)
    for (let level = 0; level < DEPTH; level++) {
      const nodes = 2 ** level
      sums.fill(0, 0, nodes * stride)
      for (let i = 0; i < n; i++) {
        const weight = weights[i]!
        const pull = weight * left[i]!
        const at = nodeOf[i]! * stride
        for (let cell = i * columns, end = cell + columns; cell < end; cell++) {
          const bin = at + cells[cell]!
          sums[bin]! += pull
          sums[bin + 1]! += weight
        }
      }
      const feature = new Int32Array(nodes)
      const cut = new Int32Array(nodes)
      for (let node = 0; node < nodes; node++) {
        const split = bestSplit(sums, node * stride, columns)
        feature[node] = split.feature
        cut[node] = split.bin
        features.push(split.feature)
        thresholds.push(split.bin === MOST_BINS ? null : edges[split.feature]![split.bin]!)
      }
      for (let i = 0; i < n; i++) {
        const node = nodeOf[i]!
        nodeOf[i] = 2 * node + (bins[i * columns + feature[node]!]! > cut[node]! ? 1 : 0)
      }
    }
    const sum = new Float64Array(LEAVES)
    const mass = new Float64Array(LEAVES)
    for (let i = 0; i < n; i++) {
      sum[nodeOf[i]!]! += weights[i]! * left[i]!
      mass[nodeOf[i]!]! += weights[i]!
    }
    const values = sum.map((value, leaf) => (mass[leaf]! > 0 ? (rate * value) / mass[leaf]! : 0))
    for (let i = 0; i < n; i++) left[i]! -= values[nodeOf[i]!]!
    leaves.push(...values)
  }
  return { base, features, thresholds, leaves }
}

/** What the trees say of one row. */
export function treesAt({ base, features, thresholds, leaves }: BoostedTrees, row: ArrayLike<number>): number {
  let sum = base
  for (let root = 0, leaf = 0; root < features.length; root += NODES, leaf += LEAVES) {
    let node = 0
    while (node < NODES) {
      const threshold = thresholds[root + node]
      node = 2 * node + 1 + (threshold !== null && row[features[root + node]!]! > threshold! ? 1 : 0)
    }
    sum += leaves[leaf + node - NODES]!
  }
  return sum
}

/** The split that explains most; of equal ones the first. Bin `MOST_BINS` where none explains anything. */
function bestSplit(sums: Float64Array, begin: number, columns: number) {
  let sum = 0
  let mass = 0
  for (let bin = 0; bin < MOST_BINS; bin++) {
    sum += sums[begin + 2 * bin]!
    mass += sums[begin + 2 * bin + 1]!
  }
  const whole = mass > 0 ? (sum * sum) / mass : 0
  let best = 1e-9 * Math.abs(whole)
  let result = { feature: 0, bin: MOST_BINS }
  for (let feature = 0, at = begin; feature < columns; feature++, at += 2 * MOST_BINS) {
    let leftSum = 0
    let leftMass = 0
    for (let bin = 0; bin < MOST_BINS - 1; bin++) {
      const here = sums[at + 2 * bin + 1]!
      if (here === 0) continue
      leftSum += sums[at + 2 * bin]!
      leftMass += here
      const rightMass = mass - leftMass
      if (rightMass < 1e-9) break
      const gain = leftSum ** 2 / leftMass + (sum - leftSum) ** 2 / rightMass - whole
      if (gain > best * (1 + 1e-9)) {
        best = gain
        result = { feature, bin }
      }
    }
  }
  return result
}

/** Bin of each cell, and the upper edge of each bin of each column. */
function binned(rows: Float64Array, columns: number, n: number) {
  const bins = new Uint8Array(n * columns)
  const edges: Float64Array[] = []
  for (let j = 0; j < columns; j++) {
    const sorted = Float64Array.from({ length: n }, (_, i) => rows[i * columns + j]!).sort()
    const distinct = sorted.filter((value, i) => i === 0 || value !== sorted[i - 1])
    const of = distinct.length <= MOST_BINS ? distinct : sorted
    const count = Math.min(distinct.length, MOST_BINS)
    const edge = new Float64Array(count).fill(Infinity)
    for (let b = 0; b + 1 < count; b++) {
      const at = Math.floor(((b + 1) * of.length) / count)
      edge[b] = (of[at - 1]! + of[at]!) / 2
    }
    edges.push(edge)
    for (let i = 0; i < n; i++) {
      const value = rows[i * columns + j]!
      let low = 0
      let high = count - 1
      while (low < high) {
        const middle = (low + high) >> 1
        if (value > edge[middle]!) low = middle + 1
        else high = middle
      }
      bins[i * columns + j] = low
    }
  }
  return { bins, edges }
}
