/** Centre and spread of each column: what takes raw features to z units and back. */
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
    // A mean that is rounded would make a column of one value one that varies, by 1e-16 of it.
    if (rows.every((row) => row[j] === rows[0]![j])) continue
    for (const row of rows) deviation[j]! += (row[j]! - mean[j]!) ** 2
    deviation[j] = Math.sqrt(deviation[j]! / (rows.length - 1))
  }
  return { mean, deviation }
}

/** A column that never varied says nothing: it becomes 0 instead of a division by zero. */
export function standardize(row: ArrayLike<number>, { mean, deviation }: Scaling): Float64Array {
  return Float64Array.from(row, (value, j) => (deviation[j]! > 0 ? (value - mean[j]!) / deviation[j]! : 0))
}
