/** Power over a run, one entry per sample, from the first moment of the run to its last; never paused. */
export interface PowerSeries {
  /** Milliseconds since the run began. */
  readonly timeMs: readonly number[]
  readonly powerCapW: readonly number[]
  /** The board's own reading, W; null where it could not be read. */
  readonly sensorW: readonly (number | null)[]
  /** True mean power over the interval that ends at `timeMs`, W; known for simulated boards only. */
  readonly trueW?: readonly number[]
}
