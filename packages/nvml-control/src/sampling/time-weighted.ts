/** Readings of one quantity in order of time. Failed readings are omitted. */
export interface Readings {
  readonly timesMs: readonly number[]
  readonly values: readonly number[]
}

/** Integral by the trapezoidal rule, in the readings' unit times seconds; null for fewer than two readings. */
export function integral({ timesMs, values }: Readings): number | null {
  if (timesMs.length < 2) return null
  let sum = 0
  for (let i = 1; i < timesMs.length; i++) {
    sum += ((timesMs[i]! - timesMs[i - 1]!) / 1000) * ((values[i]! + values[i - 1]!) / 2)
  }
  return sum
}

/** Time-weighted mean from the first to the last reading; null without readings. */
export function timeWeightedMean(readings: Readings): number | null {
  const { timesMs, values } = readings
  const spanS = (timesMs.at(-1)! - timesMs[0]!) / 1000
  if (timesMs.length === 0) return null
  return spanS > 0 ? integral(readings)! / spanS : values.reduce((sum, value) => sum + value, 0) / values.length
}

/**
 * Returns the value that the quantity did not exceed for `percent` of the time; null without readings. Each reading is
 * weighted by half the time between its neighbours, so that many readings in a short time do not dominate.
 */
export function timeWeightedPercentile({ timesMs, values }: Readings, percent: number): number | null {
  const last = timesMs.length - 1
  if (last < 0) return null
  const weighted = values.map((value, i) => ({
    value,
    weight: (timesMs[Math.min(last, i + 1)]! - timesMs[Math.max(0, i - 1)]!) / 2 || 1e-9,
  }))
  weighted.sort((a, b) => a.value - b.value)
  const total = weighted.reduce((sum, { weight }) => sum + weight, 0)
  let below = 0
  for (const { value, weight } of weighted) {
    below += weight
    if (below >= (percent / 100) * total * (1 - 1e-12)) return value
  }
  return weighted.at(-1)!.value
}
