import { normalCdf, normalDensity } from '@pctodl/numerics'

/** Below this a standard deviation is taken for zero, and chances for certainties. */
const LEAST_SD = 1e-6

/**
 * Expected gain over `best` of a normal variable with this mean and standard deviation:
 * (mean - best) Phi(z) + sd phi(z), z = (mean - best) / sd (Jones, Schonlau, Welch 1998).
 */
export function expectedImprovement(mean: number, sd: number, best: number): number {
  if (sd <= LEAST_SD) return Math.max(0, mean - best)
  const z = (mean - best) / sd
  return (mean - best) * normalCdf(z) + sd * normalDensity(z)
}

/** Chance that a normal variable stays at or below a bound; 0 or 1 where it does not vary. */
export function probabilityWithin(mean: number, sd: number, bound: number): number {
  if (sd <= LEAST_SD) return mean <= bound ? 1 : 0
  return normalCdf((bound - mean) / sd)
}
