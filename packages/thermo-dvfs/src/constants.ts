export const SECOND_MS = 1000

/** All constants of the control, in one table. Shares are of the cap unless stated otherwise. */
export const control = {
  /** Power up to which a clock may be chosen. */
  targetShare: 0.997,
  /** Bound on the estimate plus `confidence` standard deviations, and on the estimate at the present clock. */
  sureShare: 1.001,
  /** Energy allowed in a one-second window, relative to the cap's. */
  windowShare: 1.004,
  /** A one-second mean above this shows that a board limit leaks, or that the lowest clock is too high. */
  leakShare: 1.007,
  /** A clock that proved too high may be tried again at once where its estimate is below this. */
  surelyFreeShare: 0.985,
  /** A board limit up to this holds the cap by itself. */
  heldShare: 1.0075,
  /** Under such a limit, the clock above the highest one within this is locked; the firmware trims the rest. */
  heldTargetShare: 0.999,
  /** A cap that differs by more than this is a new cap. */
  newCapShare: 0.005,
  /** Share of active tenants that counts as all. */
  allTenants: 0.999,
  /**
   * A measured clock that is off by more than this many states is not the requested one; after this time, ms, the
   * request counts as lost.
   */
  statesOff: 2,
  lostMs: 2500,
  /** Margin of a chosen clock, in standard deviations. */
  confidence: 1.5,
  /** Innovations beyond this many standard deviations are not noise. */
  outlier: 3,
  /** A smaller change than this is not another load, share of the model. */
  outlierShare: 0.015,
  /** Standard deviation of the slope between model and board, share of the difference. */
  slopeSd: 0.3,
  /** Share of the offset that scales with the model's power. */
  scaledShare: 0.5,
  /** Standard deviation of the offset before the first reading, share of the model. */
  offsetSd: 0.15,
  /** Standard deviation that a change of tenants adds to it. */
  plantSd: 0.04,
  /** Random walk of the offset, share per square root of a second. */
  driftSd: 0.003,
  /** Noise of readings before it has been measured, and four times its lower bound afterwards. */
  noiseSd: 0.01,
  /** Time from a request to its effect, plus half the window of a prompt sensor, ms. */
  sensingMs: 80,
  /** Margin added to sensing time, delay and window when readings look back, ms. */
  marginMs: 100,
  /** Time from a change to a raise, beyond the sensor's delay and window, ms. */
  dwellMs: 500,
  /**
   * A lowering within this time after a raise means that the raise failed, ms; also the first hold-off of its clock.
   * Next, the longest hold-off, also of a board limit that leaks, ms.
   */
  holdOffMs: 10_000,
  maxHoldOffMs: 512_000,
  /** Time without a reading that counts as blind, ms; the clock is lowered from twice that on. */
  blindMs: 1500,
  /** Rate of the blind descent per second, and where it ends. */
  blindShare: 0.03,
  blindLowestShare: 0.8,
  /** Time after which low power counts as a lighter load where nobody counts batches, ms. */
  underloadMs: 10_000,
  /** Time without a change or a reading above the cap after which the clock is settled, ms. */
  settledMs: 3000,
  /** Largest sensor delay considered, ms. */
  maxDelayMs: 2000,
  /** Step between candidate delays, ms. */
  delayStepMs: 200,
  /** Weight of a new residual in a candidate's mean, and the share of its loss that is kept each time. */
  delayMeanWeight: 0.05,
  delayLossKept: 0.97,
  /**
   * Spread of the candidates' squared residuals that can tell them apart, and the largest residual that counts, in
   * noise variances.
   */
  delaySpread: 16,
  /** Margin of loss by which another delay must beat the present one, in noise variances. */
  delayEvidence: 25,
  /** One-second windows that end this far ahead, from first to last, are kept within the cap's energy, ms. */
  windowFirstMs: 300,
  windowLastMs: 1100,
  /** Length of the remembered history, ms. */
  historyMs: 3600,
  /** Readings above this multiple of the model's highest power are sensor faults. */
  implausibleFactor: 4,
  /** Readings that stay constant this long while they should vary are frozen, ms. */
  frozenMs: 400,
  /** A meter that stays constant or is missing this long while another varies does not count, ms. */
  stillMs: 3000,
  /** Window of instant readings, ms. */
  instantMs: 100,
  /** Time over which two meters are compared, and over which their usual ratio is learnt, ms. */
  compareMs: 2000,
  baselineMs: 30_000,
  /**
   * Change of ratio that counts as a disagreement: from the first window on for meters that agreed for
   * `baselineWindows`, else from the second on, since sensors of one board differ.
   */
  changedShare: 0.03,
  apartShare: 0.06,
  baselineWindows: 3,
} as const
