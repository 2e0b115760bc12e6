import type { PublishedPowerLaw } from '../../src/dvfs/published-power-law.js'

export const clocksMhz: readonly number[] = Array.from({ length: 81 }, (_, i) => 210 + 15 * i)

/** The synthetic power law of the golden vectors. */
export const law: PublishedPowerLaw = {
  d3: 3e-8,
  d2: -5e-5,
  d1: 0.025,
  d0: 25,
  gamma: 1.2,
  basePowerW: 30,
  dynamicPowerAtReferenceW: 200,
  lowestClockMhz: 210,
  referenceClockMhz: 1410,
}
