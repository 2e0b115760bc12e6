import { InvalidInputError } from '@pctodl/platform'

/**
 * The power law of PctoDL's Python code for one network on one board at one memory clock:
 *
 *     static(f)  = d3 f^3 + d2 f^2 + d1 f + d0
 *     dynamic(f) = base + (dynamicAtReference - base) ((f - lowest) / (reference - lowest))^gamma
 *
 * Powers in W, clocks in MHz.
 */
export interface PublishedPowerLaw {
  readonly d3: number
  readonly d2: number
  readonly d1: number
  readonly d0: number
  readonly gamma: number
  readonly basePowerW: number
  /** Dynamic power of the running tenants at the reference clock, W. */
  readonly dynamicPowerAtReferenceW: number
  readonly lowestClockMhz: number
  readonly referenceClockMhz: number
}

/** Lower bound of slopes (W/MHz), power ranges (W) and clock ranges (MHz), which avoids division by zero. */
const EPSILON = 1e-6

export function assertPublishedPowerLaw(law: PublishedPowerLaw): void {
  for (const [field, value] of Object.entries(law)) {
    if (!Number.isFinite(value)) throw new InvalidInputError(`law.${field}`, value, 'a finite number')
  }
  if (!(law.referenceClockMhz > law.lowestClockMhz)) {
    throw new InvalidInputError('law.referenceClockMhz', law.referenceClockMhz, 'a clock above law.lowestClockMhz')
  }
  if (!(law.gamma > 0)) throw new InvalidInputError('law.gamma', law.gamma, 'a positive exponent')
}

function staticPower(law: PublishedPowerLaw, clockMhz: number): number {
  return ((law.d3 * clockMhz + law.d2) * clockMhz + law.d1) * clockMhz + law.d0
}

/**
 * Board power at a clock, W. Outside the fitted clock range the dynamic part is constant and the static polynomial is
 * extrapolated.
 */
export function publishedPower(law: PublishedPowerLaw, clockMhz: number): number {
  const span = law.referenceClockMhz - law.lowestClockMhz
  const position = Math.min(1, Math.max(0, (clockMhz - law.lowestClockMhz) / span))
  const dynamic = law.basePowerW + (law.dynamicPowerAtReferenceW - law.basePowerW) * position ** law.gamma
  return staticPower(law, clockMhz) + dynamic
}

/** Derivative of board power with respect to the SM clock, W/MHz. */
export function publishedSlope(law: PublishedPowerLaw, clockMhz: number): number {
  const dynamicW = Math.max(
    publishedPower(law, law.referenceClockMhz) - staticPower(law, law.referenceClockMhz),
    EPSILON,
  )
  const above = Math.max(clockMhz - law.lowestClockMhz, EPSILON)
  const span = Math.max((law.referenceClockMhz - law.lowestClockMhz) ** law.gamma, EPSILON)
  const slope =
    law.d1 +
    2 * law.d2 * clockMhz +
    3 * law.d3 * clockMhz ** 2 +
    (law.gamma * (dynamicW - law.basePowerW) * above ** (law.gamma - 1)) / span
  return Math.max(slope, EPSILON)
}

/**
 * The clock at which the published controller expects power to equal the cap, MHz. It only approximates the inverse of
 * `publishedPower`: it applies the exponent of the dynamic part to the sum of static and dynamic power.
 */
export function publishedFeedForward(law: PublishedPowerLaw, powerCapW: number): number {
  const { lowestClockMhz, referenceClockMhz } = law
  const lowestW = publishedPower(law, lowestClockMhz)
  const highestW = publishedPower(law, referenceClockMhz)
  if (powerCapW <= lowestW) return lowestClockMhz
  if (powerCapW >= highestW) return referenceClockMhz
  const position = ((powerCapW - lowestW) / Math.max(highestW - lowestW, EPSILON)) ** (1 / law.gamma)
  return Math.min(referenceClockMhz, lowestClockMhz + (referenceClockMhz - lowestClockMhz) * position)
}
