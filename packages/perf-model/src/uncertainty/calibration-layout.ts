/** Probabilities at which a calibration keeps the quantiles of the errors. */
export const calibrationLevels: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.1587, 0.25, 0.5, 0.75, 0.8413, 0.9, 0.95, 0.975, 0.99, 0.995,
]

/** Errors below this are as good as none: their logarithm would say more of luck than of size. No standard deviation is smaller. */
export const LEAST_ERROR = 5e-4

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
  /** Means over the tenants of products of the scaled logarithms of batch and share: batch^2, share^2, batch x share. */
  products: 10,
  /** The clock, scaled, times the means of 1 / batch, both logarithms and these products. */
  byClock: 13,
  /** The logarithm of the number of tenants, scaled, times the same. */
  byTenants: 19,
  /** The latter's square. */
  tenantsSquare: 25,
  clockTenants: 26,
  /** How far the memory clock is below the highest one, in parts of that; the same times clock and tenants. */
  memory: 27,
  memoryClock: 28,
  memoryTenants: 29,
  /** 1 for a tenant alone. */
  alone: 30,
} as const

/** Numbers that errors of every network depend on. Files of earlier releases have fewer; the rest counts as 0. */
export const FEATURES = 31

/**
 * Then, for each network, its part of the tenants and the means over its tenants of 1 / batch, the scaled logarithm of the batch, its square, and
 * the scaled logarithm of the share; the same times the scaled clock, and times the scaled logarithm of the number of tenants.
 */
export const NETWORK_FEATURES = 15
