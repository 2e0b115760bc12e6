import { fitVarianceComponents, sum } from '@pctodl/numerics'
import type { FittedProcess } from './co-runner-process.js'
import { COVARIANCE_PARTS, SHARED_PARTS, SlowdownCovariance } from './slowdown-covariance.js'
import { colocationSpans, type TrainingRow } from './training-rows.js'
import { pointsScaledBy } from './workload-kernels.js'

/** Maximum number of rows to fit. The cost grows with the cube of their number. */
const MAX_ROWS = 512
const STEPS = 40

/** Returns the maximum-likelihood variances of the parts of the covariance and of the noise. */
export function fitVariances({ workloads, rows }: Pick<FittedProcess, 'workloads' | 'rows'>, mean: number): number[] {
  const some = sampleOfEachSize(rows)
  const n = some.length
  const sizes = new Set(some.map(({ others }) => others.length))
  // With a single size, effects common to all sizes cannot be separated from those of this size.
  const used = sizes.size > 1 ? COVARIANCE_PARTS : SHARED_PARTS
  const covariance = new SlowdownCovariance(workloads.map(pointsScaledBy(workloads)))
  const points = some.map(({ own, others }) => covariance.row(own, others))
  const matrices = Array.from({ length: used + 2 }, () => new Float64Array(n * n))
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const parts = covariance.partsOf(points[i]!, points[j]!)
      for (let c = 0; c < used; c++) matrices[c]![i * n + j] = matrices[c]![j * n + i] = parts[c]!
      const together = some[i]!.colocation === some[j]!.colocation ? 1 : 0
      matrices[used]![i * n + j] = matrices[used]![j * n + i] = together
    }
    matrices[used + 1]![i * n + i] = 1 / some[i]!.count
  }
  const observations = Float64Array.from(some, ({ exponent }) => exponent - mean)
  const { variances } = fitVarianceComponents(matrices, observations, STEPS)
  const unused = new Array<number>(COVARIANCE_PARTS - used).fill(0)
  return [...variances.subarray(0, used), ...unused, ...variances.subarray(used)]
}

/** Selects whole colocations, evenly spread over those of each size. */
function sampleOfEachSize(rows: readonly TrainingRow[]): TrainingRow[] {
  if (rows.length <= MAX_ROWS) return [...rows]
  const spans = colocationSpans(rows)
  const sizes = [...new Set(rows.map(({ others }) => others.length))].sort((a, b) => a - b)
  let left = MAX_ROWS
  return sizes.flatMap((size, rank) => {
    const ofSize = spans.filter(([begin]) => rows[begin]!.others.length === size)
    const rowsOfSize = sum(ofSize.map(([begin, end]) => end - begin))
    const share = Math.min(1, left / (sizes.length - rank) / rowsOfSize)
    const count = Math.max(1, Math.round(share * ofSize.length))
    const chosen = Array.from({ length: count }, (_, i) => ofSize[Math.floor(((i + 0.5) * ofSize.length) / count)]!)
    const taken = chosen.flatMap(([begin, end]) => rows.slice(begin, end))
    left -= taken.length
    return taken
  })
}
