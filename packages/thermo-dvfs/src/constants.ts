export const SECOND_MS = 1000

/** All constants of the control. Shares are fractions of the cap unless stated otherwise. */
export const control = {
  /** Highest estimated power at which a clock may be chosen. */
  targetShare: 0.997,
  /**
   * Estimated power above which a clock is lowered, and energy allowed in a one-second window, relative to the cap's
   * energy. A board limit at or below it counts as a limit at the cap.
   */
  lowerShare: 1.004,
  /** A one-second mean above this shows that the board's limit leaks, or that the clock is too high. */
  leakShare: 1.007,
  /** Without readings, the clock falls until the estimated power is this fraction of the cap. */
  blindLowestShare: 0.8,
  /** Readings above this multiple of the model's highest power count as sensor faults. */
  implausibleFactor: 4,
  /** If the measured clock differs by more than this many states, it is not the requested clock. */
  statesOff: 2,

  /**
   * An innovation (reading minus expectation) beyond this many standard deviations is not noise. A chosen clock keeps a
   * margin of half as many below the cap.
   */
  outlier: 3,
  /**
   * Smallest relative change that counts, of the ratio of two meters or of the model power; half of it for one reading.
   * It is also the fall per second without readings, the excess that is left to trimming firmware, and the margin below
   * the cap that ends a hold-off early.
   */
  changedShare: 0.03,
  /**
   * Standard deviation of the ratio of board to model power before the first reading. `driftSd` is the random walk of
   * this ratio per square root of a second.
   */
  ratioSd: 0.15,
  driftSd: 0.003,
  /** Standard deviation of a modelled power difference between two clocks, as a fraction of that difference. */
  slopeSd: 0.3,
  /**
   * Standard deviation of the readings' noise before it has been measured, as a fraction of the model power. A quarter
   * of it is the lower bound afterwards.
   */
  noiseSd: 0.01,
  /** Weight of a new value in a running mean. */
  meanWeight: 0.05,

  /**
   * Time between readings, ms. It is also the window of an instant reading, and the time from a request to its effect.
   */
  sampleMs: 100,
  /** Largest candidate delay of the sensor, and step between candidates, ms. */
  maxDelayMs: 2000,
  delayStepMs: 200,
  /** Number of such steps between the two readings whose difference is compared with the model. */
  delayApart: 2,
  /**
   * Another candidate delay replaces the present one if its sum of unexplained changes is smaller by more than this, in
   * standard deviations of a reading.
   */
  delayEvidence: 30,
  /**
   * Time of three readings, ms. A raise needs a reading that is newer than this. One-second windows that end more
   * than this time ahead are kept within the cap's energy.
   */
  shortMs: 300,
  /**
   * Dwell time, ms: waiting time before a raise, after earlier clocks no longer show in the readings. Readings that
   * stay unchanged for this long may be frozen.
   */
  dwellMs: 500,
  /** Time after which a persisting state is accepted, ms: a lost request, a silent meter, or a settled clock. */
  patienceMs: 3000,
  /**
   * If the clock is lowered within this time after a raise, the raise has failed, ms. It is also the first hold-off of
   * the failed clock; half of it is the time for which power must be low if the tenants' activity is unknown.
   */
  holdOffMs: 20_000,
} as const
