import { InvalidInputError } from '@pctodl/platform'
import type { EnsembleDescription } from './published-set.js'

/**
 * Maximum number of leaves per tree. A set of leaves is a 32-bit word with one bit per leaf; trees of depth 5 have at
 * most 32 leaves.
 */
const MAX_LEAVES = 32

interface Split {
  readonly tree: number
  readonly threshold: number
  /** The leaves that remain possible if the feature is above the threshold, as a bit mask. */
  readonly mask: number
}

/**
 * Gradient-boosted regression trees, evaluated without traversing the trees (C. Lucchese et al., "QuickScorer", SIGIR
 * 2015). For every feature, the thresholds of all trees divide the axis into cells. For every cell and tree, a word
 * contains the leaves that are still possible. A prediction looks up each feature's cell and intersects the words; the
 * lowest remaining bit is the leaf. A table replaces the loop over thresholds, since such ensembles have few distinct
 * thresholds.
 *
 * The result equals scikit-learn's bit for bit: features are rounded to float32, `x <= threshold` goes left, and leaves
 * are added in the order of the trees in float64.
 */
export class TreeEnsemble {
  readonly featureCount: number
  readonly #init: number
  readonly #treeCount: number
  /** Features that at least one tree splits on. */
  readonly #features: Int32Array
  /** Distinct thresholds of each used feature, ascending. Those of feature k start at `#firstThreshold[k]`. */
  readonly #thresholds: Float64Array
  readonly #firstThreshold: Int32Array
  /** Masks: one row of `#treeCount` words per cell. Feature k's cells begin at row `#firstThreshold[k] + k`. */
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
      // Leaves are numbered from left to right, in pre-order. `end` is the node after the subtree.
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
        // `<<` counts modulo 32, but `leaf` is below 32 here: the right side has at least one leaf.
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
    // One extra row is for ensembles without any split.
    this.#masks = new Int32Array((this.#thresholds.length + used.length + 1) * trees.length).fill(-1)
    used.forEach((feature, k) => void this.#writeMasks(splits[feature]!, cuts[k]!, this.#firstThreshold[k]! + k))
  }

  /** @param features at least `featureCount` finite numbers */
  predict(features: Float64Array): number {
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
      // In the lowest cell every leaf is possible, so its row can be skipped.
      if (low > first) rows[rowCount++] = (low + k) * trees
      first = end
    }
    // Processing four rows at a time halves the duration. Row 0, a lowest cell without effect, is the padding.
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
   * Fills the mask rows. Each cell has the words of the cell below it, intersected with the masks of the threshold
   * between them.
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
