export const SECOND_MS = 1000

/** All constants of the control, in one table. Shares are of the cap unless stated otherwise. */
export const control = {
  /** Power up to which a clock may be chosen. */
  targetShare: 0.997,
  /** Energy allowed in a one-second window, relative to the cap's. */
  windowShare: 1.004,
  /** A one-second mean above this shows that a board limit leaks, or that a clock is too high. */
  leakShare: 1.007,
  /** Lowest power to which a board without readings is lowered. */
  blindLowestShare: 0.8,
  /** Readings above this multiple of the model's highest power are sensor faults. */
  implausibleFactor: 4,
  /** A measured clock that is off by more than this many states is not the requested one. */
  statesOff: 2,

  /** Innovations beyond this many standard deviations are not noise; half as many are the margin of a chosen clock. */
  outlier: 3,
  /** A smaller change than this is not another load, share of the model. */
  outlierShare: 0.015,
  /**
   * Change in the ratio of two meters that counts, the blind descent in a second, and the standard deviation that new
   * tenants add to the ratio of board and model.
   */
  changedShare: 0.03,
  /** Standard deviation of that ratio before the first reading, and its random walk per square root of a second. */
  ratioSd: 0.15,
  driftSd: 0.003,
  /** Standard deviation of the slope between model and board, share of the difference. */
  slopeSd: 0.3,
  /** Noise of readings before it has been measured, share of the model, and four times its lower bound afterwards. */
  noiseSd: 0.01,
  /** Weight of a new value in a running mean. */
  meanWeight: 0.05,

  /** Time between readings, also the window of an instant one, and the time from a request to its effect, ms. */
  sampleMs: 100,
  /** Step between the candidate delays of the sensor, and the largest of them, ms. */
  delayStepMs: 200,
  maxDelayMs: 2000,
  /** Unexplained change by which another delay must beat the present one, in standard deviations of a reading. */
  delayEvidence: 30,
  /**
   * Time of three readings, ms: a raise needs one that is newer, one-second averages are averaged over it, and the
   * one-second windows that end later than this from now are kept within the cap's energy.
   */
  shortMs: 300,
  /** Time from a change to a raise beyond what readings look back on, and until unchanged readings may be frozen, ms. */
  dwellMs: 500,
  /** What stays wrong or unchanged this long is taken for it, ms: a lost request, a silent meter, a settled clock. */
  patienceMs: 3000,
  /** A lowering within this time after a raise means that the raise failed, ms; also the first hold-off of its clock. */
  holdOffMs: 10_000,
} as const
