import { logGamma } from '@pctodl/numerics'

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
