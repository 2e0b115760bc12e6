/** Probabilities at which a calibration keeps the quantiles of the errors. */
export const calibrationLevels: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.1587, 0.25, 0.5, 0.75, 0.8413, 0.9, 0.95, 0.975, 0.99, 0.995,
]

/**
 * What the size of a prediction's error depends on, by index. The first is what the fit itself does not know, from the covariance
 * of its parameters and the variance of its corrections; the others say where the equations are less true.
 */
export const feature = {
  one: 0,
  /** Logarithm of the standard deviation of parameters and corrections, over all tenants. */
  unknown: 1,
  /** Mean over the tenants of 1 / batch size. */
  smallBatch: 2,
  /** Mean over the tenants of the logarithm of the batch size. */
  batch: 3,
  /** Mean over the tenants of the logarithm of the share. */
  share: 4,
  /** Logarithm of the number of tenants. */
  tenants: 5,
  /** 1 where not all are of one kind. */
  unlike: 6,
  /** 1 where they are of several networks. */
  several: 7,
  /** SM clock in parts of the board's highest. */
  clock: 8,
  /** Its square. */
  clockSquare: 9,
} as const

export const FEATURES = 10
