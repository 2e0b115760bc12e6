import { logGamma } from '@pctodl/numerics'

/** Workers that take waiting requests from one queue, each up to a full batch at once. */
export interface TailQueue {
  /** Requests/s. */
  readonly ratePerS: number
  /** Squared coefficient of variation of the gaps between requests: 1 is Poisson. */
  readonly burstiness: number
  /** Capacity of all workers with full batches, requests/s. */
  readonly capacityPerS: number
  readonly workers: number
  /** Requests in the largest full batch of a worker. */
  readonly largestBatch: number
  /** Time of the slowest worker's full batch, ms. */
  readonly fullBatchMs: number
  /** Time of the slowest worker's batch of one request, ms. */
  readonly singleMs: number
}

/**
 * Backlog that keeps batches full although workers finish at independent times, in full batches per square root of the
 * number of other workers. In theory, it is the mean height of a Brownian bridge, which is at most 0.87. This value was
 * fitted to simulations.
 */
const UNEVEN_ENDS = 0.7

/** Number of quantiles of the wait for a worker. */
const MOMENTS = 16

/**
 * Estimated fraction of requests that are answered later than a limit, 0..1. If all workers are busy (at most the
 * utilisation with batches of one, times the burstiness; for bursty traffic at least `clusteredShare`), a request waits
 *
 * - for the next free worker: the minimum of `workers` uniform parts of a full batch
 * - for the backlog: more than n requests with a probability of at most exp(-θ · n), see `queueDecay`
 * - near capacity, for the backlog that keeps batches full, see `UNEVEN_ENDS`
 * - for its own batch: the full batch of the slowest worker
 */
export function lateShare(queue: TailQueue, withinMs: number): number {
  const { ratePerS, burstiness, capacityPerS, workers, largestBatch, fullBatchMs, singleMs } = queue
  const needed = ratePerS / capacityPerS
  const unevenMs = (1000 * UNEVEN_ENDS * needed * largestBatch * Math.sqrt(workers - 1)) / capacityPerS
  const slackMs = withinMs - fullBatchMs - unevenMs
  const theta = queueDecay(ratePerS, capacityPerS, burstiness)
  if (slackMs < 0 || theta === 0) return 1
  const decayPerMs = (theta * capacityPerS) / 1000
  const inProportion = Math.min(1, (burstiness * ratePerS * singleMs) / (1000 * workers))
  const busy =
    burstiness > 1 ? Math.max(inProportion, clusteredShare(ratePerS, singleMs, workers, burstiness)) : inProportion
  let beyond = 0
  for (let i = 0; i < MOMENTS; i++) {
    const waitMs = fullBatchMs * (1 - ((i + 0.5) / MOMENTS) ** (1 / workers))
    beyond += waitMs >= slackMs ? 1 : Math.exp(-decayPerMs * (slackMs - waitMs))
  }
  return (busy * beyond) / MOMENTS
}

/**
 * Upper bound on the fraction of requests that arrive while all workers are busy with batches of one, so that the
 * `workers` requests before them all arrived within one such batch. For gamma-distributed gaps this is the regularised
 * incomplete gamma function P(workers / burstiness, rate · time / burstiness), by its series (Abramowitz and Stegun
 * 6.5.29).
 */
function clusteredShare(ratePerS: number, singleMs: number, workers: number, burstiness: number): number {
  const a = workers / burstiness
  const x = (ratePerS * singleMs) / (1000 * burstiness)
  // Beyond the middle of the distribution the other estimate is larger, and the series would be long.
  if (x <= 0 || x > a) return 0
  let term = 1
  let sum = 1
  for (let n = 1; term > 1e-9 * sum; n++) {
    term *= x / (a + n)
    sum += term
  }
  return Math.min(1, Math.exp(a * Math.log(x) - x - logGamma(a + 1)) * sum)
}

/**
 * Decay rate of a queue's backlog: of the arriving requests, at most a fraction exp(-θ · n) finds more than n others
 * unanswered. θ is Kingman's bound (J. F. C. Kingman, "A martingale inequality in the theory of queues", 1964) for
 * independent gamma-distributed gaps and a constant service rate: the positive root of b · θ = ln(1 + θ · b · capacity /
 * rate), where b is the burstiness; 0 if the capacity does not exceed the rate.
 */
export function queueDecay(ratePerS: number, capacityPerS: number, burstiness: number): number {
  const ratio = capacityPerS / ratePerS
  if (!(ratio > 1)) return 0
  // To the right of the root, the concave difference of both sides falls, so Newton steps cannot overshoot.
  let theta = (ratio * ratio - 1) / (ratio * burstiness)
  for (let i = 0; i < 60; i++) {
    const x = theta * burstiness * ratio
    const difference = Math.log1p(x) - burstiness * theta
    const slope = (burstiness * ratio) / (1 + x) - burstiness
    const step = difference / slope
    theta -= step
    if (Math.abs(step) <= 1e-12 * theta) break
  }
  return theta
}
