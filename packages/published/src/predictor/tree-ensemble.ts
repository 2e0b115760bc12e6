import { InvalidInputError } from '@pctodl/platform'
import type { EnsembleDescription } from './published-set.js'

/**
 * Maximum number of leaves per tree. Trees of depth 5 have at most 32, so that a set of leaves fits a 32-bit word with
 * one bit per leaf.
 */
const MAX_LEAVES = 32

interface Split {
  readonly tree: number
  readonly threshold: number
  /** Bit mask of the leaves that can still be reached if the feature is above the threshold. */
  readonly mask: number
}

/**
 * Gradient-boosted regression trees, evaluated without traversing the trees (C. Lucchese et al., "QuickScorer", SIGIR
 * 2015). For each feature, the thresholds of all trees divide its axis into cells. For each cell and tree, a 32-bit
 * word marks the leaves that can still be reached. A prediction finds the cell of each feature and intersects the words
 * of these cells; the lowest remaining bit is the leaf. The words are computed in advance, because such ensembles have
 * few distinct thresholds.
 *
 * The result equals scikit-learn's bit for bit: features are rounded to float32, `x <= threshold` goes left, and leaf
 * values are added in float64 in the order of the trees.
 */
export class TreeEnsemble {
  readonly featureCount: number
  readonly #init: number
  readonly #treeCount: number
  /** Features that at least one tree splits on. */
  readonly #features: Int32Array
  /**
   * Distinct thresholds of each feature in use, ascending. Those of the k-th such feature start at
   * `#firstThreshold[k]`.
   */
  readonly #thresholds: Float64Array
  readonly #firstThreshold: Int32Array
  /**
   * One row of `#treeCount` words per cell. The cells of the k-th feature in use begin at row `#firstThreshold[k] + k`.
   */
  readonly #masks: Int32Array
  /** Leaf values times the learning rate, `MAX_LEAVES` per tree. */
  readonly #leaves: Float64Array
  readonly #words: Int32Array
  readonly #rows: Int32Array

  /** @throws InvalidInputError if the node arrays are not valid trees, or a tree has more than 32 leaves */
  constructor(description: EnsembleDescription, name: string) {
    const { init, learning_rate: rate, n_features: featureCount, trees } = description
    this.featureCount = featureCount
    this.#init = init
    this.#treeCount = trees.length
    this.#leaves = new Float64Array(trees.length * MAX_LEAVES)
    this.#words = new Int32Array(trees.length)
    const splits: Split[][] = Array.from({ length: featureCount }, () => [])
    trees.forEach(([features, values, rights], tree) => {
      const where = `${name}.trees[${tree}]`
      if (features.length === 0 || values.length !== features.length || rights.length !== features.length) {
        throw new InvalidInputError(
          where,
          [features.length, values.length, rights.length],
          'three arrays of one length',
        )
      }
      let leaf = 0
      // Leaves are numbered from left to right. `end` is the index of the first node after the subtree of `node`.
      const visit = (node: number, end: number): void => {
        const feature = features[node]!
        if (feature === -1) {
          if (end !== node + 1 || leaf === MAX_LEAVES) {
            throw new InvalidInputError(`${where}[0][${node}]`, feature, `pre-order with at most ${MAX_LEAVES} leaves`)
          }
          this.#leaves[tree * MAX_LEAVES + leaf++] = rate * values[node]!
          return
        }
        const right = rights[node]!
        if (!(Number.isInteger(feature) && feature >= 0 && feature < featureCount)) {
          throw new InvalidInputError(`${where}[0][${node}]`, feature, `-1 or a feature below ${featureCount}`)
        }
        if (!(Number.isInteger(right) && right > node + 1 && right < end)) {
          throw new InvalidInputError(`${where}[2][${node}]`, right, `a node from ${node + 2} to ${end - 1}`)
        }
        const first = leaf
        visit(node + 1, right)
        // `<<` takes its shift modulo 32. `leaf` is below 32 here, because the right subtree has at least one leaf.
        const left = ((1 << leaf) - 1) & ~((1 << first) - 1)
        splits[feature]!.push({ tree, threshold: values[node]!, mask: ~left })
        visit(right, end)
      }
      visit(0, features.length)
    })
    const used = splits.map((_, feature) => feature).filter((feature) => splits[feature]!.length > 0)
    const cuts = used.map((feature) =>
      [...new Set(splits[feature]!.map((split) => split.threshold))].sort((a, b) => a - b),
    )
    this.#features = Int32Array.from(used)
    this.#thresholds = Float64Array.from(cuts.flat())
    this.#firstThreshold = new Int32Array(used.length + 1)
    cuts.forEach((list, k) => {
      this.#firstThreshold[k + 1] = this.#firstThreshold[k]! + list.length
    })
    this.#rows = new Int32Array(used.length + 3)
    // One row more than the cells need, for an ensemble without any split.
    this.#masks = new Int32Array((this.#thresholds.length + used.length + 1) * trees.length).fill(-1)
    used.forEach((feature, k) => void this.#writeMasks(splits[feature]!, cuts[k]!, this.#firstThreshold[k]! + k))
  }

  /** @param features at least `featureCount` finite numbers */
  predict(features: ArrayLike<number>): number {
    const trees = this.#treeCount
    const words = this.#words
    const masks = this.#masks
    const rows = this.#rows
    const used = this.#features
    const thresholds = this.#thresholds
    const leaves = this.#leaves
    let rowCount = 0
    let first = 0
    for (let k = 0; k < used.length; k++) {
      const end = this.#firstThreshold[k + 1]!
      const x = Math.fround(features[used[k]!]!)
      let low = first
      let high = end
      while (low < high) {
        const middle = (low + high) >> 1
        if (x <= thresholds[middle]!) high = middle
        else low = middle + 1
      }
      // In the lowest cell of a feature every leaf can be reached, so its row of words changes nothing.
      if (low > first) rows[rowCount++] = (low + k) * trees
      first = end
    }
    // Processing four rows at a time halves the duration. Row 0 belongs to a lowest cell and changes nothing, so it is
    // used as padding.
    while (rowCount % 4 !== 0) rows[rowCount++] = 0
    words.fill(-1)
    for (let r = 0; r < rowCount; r += 4) {
      const a = rows[r]!
      const b = rows[r + 1]!
      const c = rows[r + 2]!
      const d = rows[r + 3]!
      for (let t = 0; t < trees; t++) words[t]! &= masks[a + t]! & masks[b + t]! & masks[c + t]! & masks[d + t]!
    }
    let sum = this.#init
    for (let tree = 0; tree < trees; tree++) {
      const word = words[tree]!
      sum += leaves[tree * MAX_LEAVES + 31 - Math.clz32(word & -word)]!
    }
    return sum
  }

  /**
   * Fills the masks of one feature. The masks of each cell are those of the cell below it, intersected with the masks
   * of all splits at the threshold between the two cells.
   */
  #writeMasks(splits: readonly Split[], cuts: readonly number[], firstRow: number): void {
    const trees = this.#treeCount
    const rowAbove = new Map(cuts.map((threshold, i) => [threshold, firstRow + i + 1]))
    for (const { tree, threshold, mask } of splits) this.#masks[rowAbove.get(threshold)! * trees + tree]! &= mask
    for (let i = trees * (firstRow + 1); i < trees * (firstRow + 1 + cuts.length); i++) {
      this.#masks[i]! &= this.#masks[i - trees]!
    }
  }
}
