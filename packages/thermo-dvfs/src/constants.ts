/** Every figure that shapes the control, in one table. Shares are of the cap unless the line says otherwise. */
export const control = {
  /** Power that a clock may be chosen for. */
  targetShare: 0.997,
  /** Bound of estimate plus `confidence` standard deviations, and of the estimate at the present clock. */
  sureShare: 1.001,
  /** Energy of a one-second window, over the cap's. */
  windowShare: 1.004,
  /** A measured one-second mean above this: a board limit leaks, the lowest clock is too much. */
  leakShare: 1.007,
  /** A clock that proved too high is tried again at once where it is estimated below this. */
  surelyFreeShare: 0.985,
  /** A board limit up to this holds the cap itself. */
  heldShare: 1.0075,
  /** Standard deviations that a chosen clock leaves free. */
  confidence: 1.5,
  /** Standard deviations beyond which an innovation is no noise. */
  outlier: 3,
  /** Less than this is no other load, share of the model. */
  outlierShare: 0.015,
  /** Standard deviation of the slope between model and board, share of the way. */
  slopeSd: 0.3,
  /** Share of the offset that scales with the model's power. */
  scaledShare: 0.5,
  /** Standard deviation of the offset before anything was read, share of the model. */
  offsetSd: 0.15,
  /** What a change of tenants adds to it. */
  plantSd: 0.04,
  /** Random walk of the offset, share per root second. */
  driftSd: 0.003,
  /** Noise of readings before it was measured, and at least a quarter of it afterwards. */
  noiseSd: 0.01,
  /** From a request to the middle of what a prompt sensor reads of it, ms. */
  sensingMs: 80,
  /** Time from a change to a raise, beyond the sensor's delay and window, ms. */
  dwellMs: 500,
  /** Longest dwell and hold-off after failures, ms. */
  maxDwellMs: 64_000,
  /** Time without a reading that counts as blind, ms; the clock goes down from twice that on. */
  blindMs: 1500,
  /** Time after which low power counts as a lighter load where nobody counts batches, ms. */
  underloadMs: 10_000,
  /** No change and no reading above the cap for so long: settled, ms. */
  settledMs: 3000,
  /** Largest delay of a sensor, ms. */
  maxDelayMs: 2000,
  /** Loss by which another delay must beat the present one, in noise variances. */
  delayEvidence: 25,
} as const
