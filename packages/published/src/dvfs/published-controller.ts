import { InvalidInputError, snapNearest } from '@pctodl/platform'
import {
  assertPublishedPowerLaw,
  type PublishedPowerLaw,
  publishedFeedForward,
  publishedSlope,
} from './published-power-law.js'

const NEWTON_DAMPING = 0.8
const LARGEST_STEP_MHZ = 300
const SMALLEST_STEP_MHZ = 15
/** Distance between power and the cap above which the controller uses a Newton step, W. */
const NEAR_W = 7
const CAP_CHANGE_W = 1e-3

/**
 * PctoDL's controller as published: one step per window of about five seconds. It is kept for comparison. It has no
 * dead band, so it alternates between the clock below the cap and the clock above it. To control a board use
 * `ClockController`.
 *
 * - after the start and after a change of the cap: the clock that the power law gives for the cap; the measurement is
 *   ignored;
 * - power more than 7 W above or below the cap: a damped Newton step of 15 to 300 MHz;
 * - otherwise: 15 MHz up or down.
 */
export class PublishedController {
  readonly #law: PublishedPowerLaw
  #powerCapW: number
  #feedForward = true

  /** @throws InvalidInputError if the law or the cap is invalid */
  constructor(law: PublishedPowerLaw, powerCapW: number) {
    assertPublishedPowerLaw(law)
    this.#law = law
    this.#powerCapW = requirePositive('powerCapW', powerCapW)
  }

  setPowerCap(powerCapW: number): void {
    requirePositive('powerCapW', powerCapW)
    if (Math.abs(powerCapW - this.#powerCapW) > CAP_CHANGE_W) this.#feedForward = true
    this.#powerCapW = powerCapW
  }

  /**
   * @param smClockMhz the clock during the window, MHz
   * @param powerW maximum power in the window, W
   * @returns the next clock, MHz: within the range of the law, but not yet rounded to a supported clock
   */
  step(smClockMhz: number, powerW: number): number {
    requirePositive('smClockMhz', smClockMhz)
    requirePositive('powerW', powerW)
    const errorW = this.#powerCapW - powerW
    let next: number
    if (this.#feedForward) {
      this.#feedForward = false
      next = publishedFeedForward(this.#law, this.#powerCapW)
    } else if (Math.abs(errorW) > NEAR_W) {
      const newton = (NEWTON_DAMPING * errorW) / publishedSlope(this.#law, smClockMhz)
      const size = Math.min(LARGEST_STEP_MHZ, Math.max(SMALLEST_STEP_MHZ, Math.abs(newton)))
      next = smClockMhz + Math.sign(newton) * size
    } else {
      next = smClockMhz + Math.sign(errorW) * SMALLEST_STEP_MHZ
    }
    return Math.min(this.#law.referenceClockMhz, Math.max(this.#law.lowestClockMhz, next))
  }
}

/**
 * The check that the Python code makes after each step of its controllers. If power is above the cap and the next clock
 * rounds to the clock just used, the next lower clock is used instead. The check does nothing if the controller raised
 * the clock although power was above the cap.
 *
 * @param smClocksMhz supported clocks, ascending
 */
export function publishedGuard(
  smClocksMhz: readonly number[],
  usedClockMhz: number,
  nextClockMhz: number,
  powerW: number,
  powerCapW: number,
): number {
  if (powerW <= powerCapW) return nextClockMhz
  const snapped = snapNearest(smClocksMhz, nextClockMhz)
  if (snapped === undefined || Math.abs(snapped - usedClockMhz) >= 1) return nextClockMhz
  return smClocksMhz[Math.max(0, smClocksMhz.indexOf(snapped) - 1)]!
}

function requirePositive(field: string, value: number): number {
  if (!(value > 0 && Number.isFinite(value))) {
    throw new InvalidInputError(
      field,
      value,
      'a positive number; a missing reading is not 0 W, so skip the step instead',
    )
  }
  return value
}
