import { clusteredShare } from './clustered-share.js'
import { queueDecay } from './queue-decay.js'

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
