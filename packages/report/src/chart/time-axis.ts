/** The shared time axis of a chart: minutes for long runs, seconds for short ones. */
export interface TimeAxis {
  readonly unit: 's' | 'min'
  /** Length of the axis in that unit. */
  readonly length: number
  readonly msPerUnit: number
}

const LONGEST_IN_SECONDS_MS = 5 * 60_000

export function timeAxis(durationMs: number): TimeAxis {
  const inSeconds = durationMs <= LONGEST_IN_SECONDS_MS
  const msPerUnit = inSeconds ? 1000 : 60_000
  return { unit: inSeconds ? 's' : 'min', length: durationMs / msPerUnit, msPerUnit }
}
