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

function normalDensity(z: number): number {
  return Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI)
}

/** W. J. Cody's rational approximations would be exact to 1e-16; this one (Hart 5666, as West 2005 gives it) is to 1e-14. */
export function normalCdf(z: number): number {
  const x = Math.abs(z)
  if (x > 37) return z > 0 ? 1 : 0
  const e = Math.exp((-x * x) / 2)
  let tail: number
  if (x < 7.07106781186547) {
    let top = 3.52624965998911e-2 * x + 0.700383064443688
    for (const c of [6.37396220353165, 33.912866078383, 112.079291497871, 221.213596169931, 220.206867912376])
      top = top * x + c
    let bottom = 8.83883476483184e-2 * x + 1.75566716318264
    for (const c of [
      16.064177579207, 86.7807322029461, 296.564248779674, 637.333633378831, 793.826512519948, 440.413735824752,
    ])
      bottom = bottom * x + c
    tail = (e * top) / bottom
  } else {
    tail = e / (x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))))) / 2.506628274631
  }
  return z > 0 ? 1 - tail : tail
}
