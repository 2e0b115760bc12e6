import { type BoostedTrees, fitBoostedTrees, treesAt } from '../math/boosted-trees.js'
import { askedWorkload, companyFeatures } from './company-features.js'
import type { TrainingRow, TrainingRows } from './training-rows.js'

/** Parts of the colocations, each of which one set of trees is fitted without. */
const PARTS = 5
const BOOSTING = { trees: 300, rate: 0.05 }

/** Trees fitted without each part of the colocations, and what they say of the rows that they have not seen. */
export function crossFittedTrees(training: TrainingRows): { trees: BoostedTrees[]; predicted: Float64Array } {
  const { rows } = training
  const features = featuresOfRows(training)
  const predicted = new Float64Array(rows.length)
  const parts = Math.min(PARTS, new Set(rows.map(({ colocation }) => colocation)).size)
  const trees = Array.from({ length: parts }, (_, part) => {
    const isLeft = ({ colocation }: TrainingRow) => colocation % parts === part
    const fitted = fitTo(
      rows,
      features,
      rows.flatMap((row, i) => (isLeft(row) ? [] : [i])),
    )
    rows.forEach((row, i) => {
      if (isLeft(row)) predicted[i] = treesAt(fitted, features[i]!)
    })
    return fitted
  })
  return { trees, predicted }
}

/** Trees fitted to all rows: the plain baseline. */
export function plainTrees(training: TrainingRows): BoostedTrees {
  return fitTo(
    training.rows,
    featuresOfRows(training),
    training.rows.map((_, i) => i),
  )
}

function featuresOfRows({ workloads, rows }: TrainingRows): Float64Array[] {
  const asked = workloads.map(askedWorkload)
  return rows.map(({ own, others }) =>
    companyFeatures(
      asked[own]!,
      others.map((other) => asked[other]!),
    ),
  )
}

function fitTo(rows: readonly TrainingRow[], features: readonly Float64Array[], seen: readonly number[]): BoostedTrees {
  const columns = features[0]!.length
  const matrix = new Float64Array(seen.length * columns)
  seen.forEach((i, at) => {
    matrix.set(features[i]!, at * columns)
  })
  return fitBoostedTrees(
    matrix,
    columns,
    Float64Array.from(seen, (i) => rows[i]!.exponent),
    Float64Array.from(seen, (i) => rows[i]!.count),
    BOOSTING,
  )
}
