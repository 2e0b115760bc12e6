/** Relative step after which a first step is the last one: its error is of the order of the step's cube. */
const LAST_STEP = 3e-5
/** From the second step on the error is of the order of (step x step before)^3, both relative, */
const LAST_STEPS = 1e-5
/** once a step is but such a part of the one before: far from the root, and beside a pole, steps are small without being right. */
const NEAR = 0.01
const MAX_STEPS = 60

/**
 * The root of a rising function in a bracket, from its values, slopes and bends (second derivatives): first Chebyshev's step, the
 * parabola of the inverse function; from the second step on the quintic of the inverse function through the last two points (Hermite
 * interpolation, by divided differences). A step that leaves the bracket halves it instead. Until it is
 * `done` write what the function says at `x`, then call `step`, which moves `x` on.
 */
export class RootSearch {
  x = 0
  /** What the function says at `x`. */
  value = 0
  slope = 0
  bend = 0
  done = false
  #steps = 0
  #low = 0
  #high = 0
  #lastX = 0
  #lastF = 0
  /** First and half the second derivative of the inverse function at the last point. */
  #lastRise = 0
  #lastBow = 0

  /** Take up another function. */
  begin(x: number, low: number, high: number): void {
    this.x = x
    this.done = false
    this.#steps = 0
    this.#low = low
    this.#high = high
  }

  step(): void {
    const { x, value, slope, bend } = this
    const rise = 1 / slope
    const bow = -0.5 * bend * rise * rise * rise
    if (value > 0) this.#high = x
    else this.#low = x
    const first = this.#steps === 0
    let next = first ? x - value * (rise - value * bow) : this.#quinticRoot(x, value, rise, bow)
    if (!(next >= this.#low && next <= this.#high)) next = 0.5 * (this.#low + this.#high)
    else {
      const move = Math.abs(next - x)
      const lastMove = Math.abs(x - this.#lastX)
      this.done = move <= LAST_STEP * x || (!first && move <= NEAR * lastMove && move * lastMove <= LAST_STEPS * x * x)
    }
    if (++this.#steps === MAX_STEPS) this.done = true
    this.#lastX = x
    this.#lastF = value
    this.#lastRise = rise
    this.#lastBow = bow
    this.x = next
  }

  /** Where the inverse function's quintic through the last point and this one meets 0. */
  #quinticRoot(x: number, f: number, rise: number, bow: number): number {
    const f0 = this.#lastF
    const per = 1 / (f - f0)
    const chord = (x - this.#lastX) * per
    const d3 = (chord - this.#lastRise) * per
    const e3 = (rise - chord) * per
    const d4 = (d3 - this.#lastBow) * per
    const e4 = (e3 - d3) * per
    const g4 = (bow - e3) * per
    const d5 = (e4 - d4) * per
    const d6 = ((g4 - e4) * per - d5) * per
    return this.#lastX - f0 * (this.#lastRise - f0 * (this.#lastBow - f0 * (d4 - f * (d5 - f * d6))))
  }
}
