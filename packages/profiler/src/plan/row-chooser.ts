import type { Configuration } from '@pctodl/platform'

/**
 * Correlation length of the prediction error of a tenant, in the natural logarithms of its share, its batch size and
 * the number of tenants.
 */
const CORRELATION_LENGTH = 0.7
/** Correlation length of the prediction error in the SM clock, as a fraction of the highest SM clock. */
const CLOCK_LENGTH = 0.5
/**
 * Variance of the error that all tenants of a network have in common, relative to the variance that differs between
 * tenants.
 */
const LEVEL = 1
/** Variance of a prediction that remains after its own row was measured, relative to the variance before. */
const NOISE = 0.2

/**
 * Chooses configurations from a pool, one by one. Each time it takes the one whose measurement most lowers the weighted
 * sum of the variances of all predictions, and then treats it as measured.
 *
 * The prediction error of a configuration is modelled as a Gaussian process (C. Rasmussen and C. Williams, Gaussian
 * Processes for Machine Learning, 2006, chapter 2): a sum over its tenants. The errors of tenants of one network
 * correlate more, the more similar the tenants are, as in the corrections of `@pctodl/perf-model`. The standard
 * deviation of the error is an input.
 *
 * @param sds relative standard deviation of the prediction for each configuration of the pool
 * @param weights weight of the variance of each configuration in the sum to be lowered
 * @returns indices in the pool
 */
export function chooseRows(
  pool: readonly Configuration[],
  sds: readonly number[],
  weights: readonly number[],
  topClockMhz: number,
  count: number,
): number[] {
  const n = pool.length
  const covariance = covarianceOf(pool, topClockMhz)
  const scale = sds.map((sd, i) => sd / Math.sqrt(covariance[i * n + i]!))
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) covariance[i * n + j]! *= scale[i]! * scale[j]!
  return Array.from({ length: count }, () => {
    let best = 0
    let most = Number.NEGATIVE_INFINITY
    for (let c = 0; c < n; c++) {
      let lowered = 0
      for (let i = 0, at = c * n; i < n; i++, at++) lowered += weights[i]! * covariance[at]! * covariance[at]!
      lowered /= covariance[c * n + c]! + NOISE * sds[c]! ** 2
      if (lowered > most) {
        most = lowered
        best = c
      }
    }
    const column = covariance.slice(best * n, best * n + n)
    const per = 1 / (column[best]! + NOISE * sds[best]! ** 2)
    for (let i = 0; i < n; i++) {
      const factor = column[i]! * per
      for (let j = 0, at = i * n; j < n; j++, at++) covariance[at]! -= factor * column[j]!
    }
    return best
  })
}

function covarianceOf(pool: readonly Configuration[], topClockMhz: number): Float64Array {
  const n = pool.length
  const kinds = pool.map((configuration) => kindsOf(configuration))
  const matrix = new Float64Array(n * n)
  for (let a = 0; a < n; a++) {
    for (let b = 0; b <= a; b++) {
      const clock = (pool[a]!.smClockMhz - pool[b]!.smClockMhz) / (CLOCK_LENGTH * topClockMhz)
      const count = Math.log(pool[a]!.tenants.length / pool[b]!.tenants.length) / CORRELATION_LENGTH
      const apart = clock * clock + count * count
      let sum = 0
      for (const x of kinds[a]!) {
        for (const y of kinds[b]!) {
          if (x.model !== y.model) continue
          const square = apart + (x.share - y.share) ** 2 + (x.batch - y.batch) ** 2
          sum += x.weight * y.weight * (LEVEL + Math.exp(-0.5 * square))
        }
      }
      matrix[a * n + b] = sum
      matrix[b * n + a] = sum
    }
  }
  return matrix
}

/** The different tenants of a configuration, each with its fraction of the number of tenants. */
function kindsOf({ tenants }: Configuration) {
  const kinds = new Map<string, { model: string; share: number; batch: number; weight: number }>()
  for (const { model, mpsPercent, batchSize } of tenants) {
    const key = `${model} ${mpsPercent} ${batchSize}`
    const found = kinds.get(key)
    if (found) found.weight += 1 / tenants.length
    else {
      const share = Math.log(mpsPercent) / CORRELATION_LENGTH
      kinds.set(key, { model, share, batch: Math.log(batchSize) / CORRELATION_LENGTH, weight: 1 / tenants.length })
    }
  }
  return [...kinds.values()]
}
