/** Mean and deviation of each column, used to standardise features. */
export interface Scaling {
  readonly mean: Float64Array
  /** Sample standard deviation (n - 1). */
  readonly deviation: Float64Array
}

export function scalingOf(rows: readonly ArrayLike<number>[]): Scaling {
  const columns = rows[0]?.length ?? 0
  const mean = new Float64Array(columns)
  const deviation = new Float64Array(columns)
  for (let j = 0; j < columns; j++) {
    for (const row of rows) mean[j]! += row[j]! / rows.length
    // Skips constant columns: their mean is rounded, which would give them a spurious deviation of 1e-16.
    if (rows.every((row) => row[j] === rows[0]![j])) continue
    for (const row of rows) deviation[j]! += (row[j]! - mean[j]!) ** 2
    deviation[j] = Math.sqrt(deviation[j]! / (rows.length - 1))
  }
  return { mean, deviation }
}

/** A constant column becomes 0. */
export function standardize(row: ArrayLike<number>, { mean, deviation }: Scaling): Float64Array {
  return Float64Array.from(row, (value, j) => (deviation[j]! > 0 ? (value - mean[j]!) / deviation[j]! : 0))
}
