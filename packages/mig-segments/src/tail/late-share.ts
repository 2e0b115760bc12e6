import { logGamma } from '@pctodl/numerics'

/** Workers that take what waits from one queue, at once and up to a full batch each. */
export interface TailQueue {
  /** Requests/s. */
  readonly ratePerS: number
  /** Variance of the gaps between requests over their squared mean: 1 is Poisson. */
  readonly burstiness: number
  /** Requests/s that all workers answer in full batches. */
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
 * Workers end their batches at times of their own, so now and then several ask at once and some take less than they could. Requests
 * that must wait for them to be full nonetheless: so many full batches for each root of the number of other workers. It is
 * the height of the Brownian bridge between evenly spread ends and chance ones, 0.87 at most on average, as it was met in simulations.
 */
const UNEVEN_ENDS = 0.7

/** Points at which the wait for a worker is taken. */
const MOMENTS = 16

/**
 * Estimate of the share of requests that are answered later than a time. A request waits until the next worker is free, then for
 * those before it, then for its own batch:
 *
 * - all workers are busy for at most the share of time that batches of one would take, and who comes in bursts meets that more
 *   often, in proportion to the burstiness, or as often as so many requests come within such a batch, see `clusteredShare`;
 * - the next worker is free after the least of so many uniform parts of a full batch;
 * - those before it are more than n with at most the probability exp(-θ · n), see `queueDecay`;
 * - while most of the capacity is needed, batches must be full although workers ask at uneven times, see `UNEVEN_ENDS`;
 * - its own batch takes what a full one of the slowest worker takes.
 *
 * @returns 0..1
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
    // Quantiles of the least of `workers` uniform variates.
    const waitMs = fullBatchMs * (1 - ((i + 0.5) / MOMENTS) ** (1 / workers))
    beyond += waitMs >= slackMs ? 1 : Math.exp(-decayPerMs * (slackMs - waitMs))
  }
  return (busy * beyond) / MOMENTS
}

/**
 * Share of requests, at most, that come while all workers are busy with batches of one: the last `workers` requests before it all came
 * within the time of one, which for gaps with a gamma distribution is the regularised incomplete gamma function
 * P(workers / burstiness, rate · time / burstiness) (its series: Abramowitz and Stegun 6.5.29). By Markov's inequality it is at most
 * rate · time / workers for requests of independent users.
 *
 * @param ratePerS requests/s
 * @param singleMs time of a batch of one, ms
 * @returns 0..1
 */
export function clusteredShare(ratePerS: number, singleMs: number, workers: number, burstiness: number): number {
  const a = workers / burstiness
  const x = (ratePerS * singleMs) / (1000 * burstiness)
  // Beyond its middle the other estimate says more, and the series is long.
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
 * How fast the backlog of a queue dies out: of the requests that come, at most a share exp(-θ · n) find more than n others not
 * yet answered. θ is Kingman's bound (J. F. C. Kingman, "A martingale inequality in the theory of queues", 1964) for independent
 * gaps with a gamma distribution and answers at a constant pace: the positive root of E exp(θ) · E exp(-θ · capacity · gap) = 1,
 * which is b · θ = ln(1 + θ · b · capacity / rate) for gaps whose squared coefficient of variation is b.
 *
 * @param ratePerS requests/s that come, above 0
 * @param capacityPerS requests/s that can be answered
 * @param burstiness variance of the gaps over their squared mean, above 0: 1 is Poisson
 * @returns θ per request; 0 where the capacity is not above the rate
 */
export function queueDecay(ratePerS: number, capacityPerS: number, burstiness: number): number {
  const ratio = capacityPerS / ratePerS
  if (!(ratio > 1)) return 0
  // Right of the root, where the concave difference of the two sides falls: Newton's steps from there never pass it.
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
