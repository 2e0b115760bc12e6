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
