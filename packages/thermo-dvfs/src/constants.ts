export const SECOND_MS = 1000

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
  /** Beside it, the clock after the highest within this is locked: the firmware takes back the rest. */
  heldTargetShare: 0.999,
  /** A cap that differs by more is a new one. */
  newCapShare: 0.005,
  /** Share of the tenants that counts as all of them. */
  allTenants: 0.999,
  /** A measured clock further off than so many states is not the one asked for; for so long, the request was lost, ms. */
  statesOff: 2,
  lostMs: 2500,
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
  /** From a request to its effect, and to the middle of what a prompt sensor reads of it, ms. */
  sensingMs: 80,
  /** Readings look back on that much more than sensing, delay and window, ms. */
  marginMs: 100,
  /** Time from a change to a raise, beyond the sensor's delay and window, ms. */
  dwellMs: 500,
  /** A lowering so soon after a raise means that the raise failed; the first hold-off of its clock, and the longest, also that of a board limit that leaks, ms. */
  holdOffMs: 10_000,
  maxHoldOffMs: 512_000,
  /** Time without a reading that counts as blind, ms; the clock goes down from twice that on. */
  blindMs: 1500,
  /** What the blind descent takes off each second, and where it ends. */
  blindShare: 0.03,
  blindLowestShare: 0.8,
  /** Time after which low power counts as a lighter load where nobody counts batches, ms. */
  underloadMs: 10_000,
  /** No change and no reading above the cap for so long: settled, ms. */
  settledMs: 3000,
  /** Largest delay of a sensor, ms. */
  maxDelayMs: 2000,
  /** Steps of the candidate delays, ms. */
  delayStepMs: 200,
  /** Weight of a new residual in a candidate's mean, and what is kept of its loss with each. */
  delayMeanWeight: 0.05,
  delayLossKept: 0.97,
  /** Spread of the candidates' squared residuals that tells them apart, and the largest that counts, in noise variances. */
  delaySpread: 16,
  /** Loss by which another delay must beat the present one, in noise variances. */
  delayEvidence: 25,
  /** One-second windows that end so much ahead are kept within the cap's energy, ms. */
  windowFirstMs: 300,
  windowLastMs: 1100,
  /** The past that is remembered, ms. */
  historyMs: 3600,
  /** Readings this many times above the model's highest power are faults of the sensor. */
  implausibleFactor: 4,
  /** Readings that stand still for so long while they should not are frozen, ms. */
  frozenMs: 400,
  /** One meter that stands still or is missing for so long beside another does not count, ms. */
  stillMs: 3000,
  /** Window of instant readings, ms. */
  instantMs: 100,
  /** Two meters are compared over so much time; what is usual between them is learnt over so much, ms. */
  compareMs: 2000,
  baselineMs: 30_000,
  /** Meters that agreed for `baselineWindows` disagree from the first on, others from the second on: sensors of one board differ. */
  changedShare: 0.03,
  apartShare: 0.06,
  baselineWindows: 3,
} as const
