import type { SeededRandom } from '@pctodl/numerics'
import type { SensorPhysics } from './board-physics.js'

/** Integration step of the board, ms. */
export const TICK_MS = 5

/**
 * The board's power sensor. A reading differs from true power: it has a constant gain and offset, it is an average, it
 * is refreshed at its own interval, it has noise, and it is rounded.
 */
export class PowerSensor {
  readonly #physics: SensorPhysics
  readonly #random: SeededRandom
  readonly #gain: number
  readonly #offsetW: number
  /** True power of the last ticks, W, in a ring buffer as long as the longest averaging window. */
  readonly #recentW: Float64Array
  #filled = 0
  #next = 0
  /** The last readings, W; null before the first refresh. */
  averageW: number | null = null
  instantW: number | null = null
  #untilRefreshMs: number
  #bias = { gain: 1, offsetW: 0 }

  constructor(physics: SensorPhysics, random: SeededRandom) {
    this.#physics = physics
    this.#random = random
    this.#gain = drawGain(physics, random)
    this.#offsetW = physics.offsetSigmaW * random.normal()
    this.#recentW = new Float64Array(Math.round(Math.max(physics.averageWindowMs, physics.instantWindowMs) / TICK_MS))
    this.#untilRefreshMs = physics.periodMs * random.uniform()
  }

  /** Advances by one tick of true power. */
  tick(trueW: number): void {
    this.#recentW[this.#next] = trueW
    this.#next = (this.#next + 1) % this.#recentW.length
    if (this.#filled < this.#recentW.length) this.#filled++
    this.#untilRefreshMs -= TICK_MS
    if (this.#untilRefreshMs > 0) return
    this.#untilRefreshMs += this.#physics.periodMs
    this.averageW = this.#read(this.#physics.averageWindowMs)
    this.instantW = this.#read(this.#physics.instantWindowMs)
  }

  /** Power that the sensor's shunts measure, W, before averaging and noise. The firmware acts on it. */
  seen(trueW: number): number {
    const { gain, offsetW } = this.#bias
    return gain * this.metered(trueW) + offsetW
  }

  /**
   * Power on the sensor's scale but without a sensor fault, W: true power with the unit's constant gain and offset.
   * Power limits and the energy counter use this scale.
   */
  metered(trueW: number): number {
    return this.#gain * trueW + this.#offsetW
  }

  /** The inverse of `metered`: the true power for a power on this unit's scale, W. */
  trueWatts(meteredW: number): number {
    return (meteredW - this.#offsetW) / this.#gain
  }

  /** Sets a sensor fault, which adds to the unit's constant error. */
  setBias(bias: { readonly gain: number; readonly offsetW: number }): void {
    this.#bias = bias
  }

  #read(windowMs: number): number {
    const ticks = Math.max(1, Math.min(this.#filled, Math.round(windowMs / TICK_MS)))
    let sum = 0
    for (let i = 1; i <= ticks; i++) {
      sum += this.#recentW[(this.#next - i + this.#recentW.length) % this.#recentW.length]!
    }
    const { noiseW, quantumW } = this.#physics
    const seen = this.#gain * (sum / ticks) + this.#offsetW + noiseW * this.#random.normal()
    const { gain, offsetW } = this.#bias
    return Math.max(0, Math.round((gain * seen + offsetW) / quantumW) * quantumW)
  }
}

/**
 * Draws the gain of one unit: normally distributed around 1, and drawn again if it is outside the range found on units.
 */
function drawGain({ gainSigma, gainRange }: SensorPhysics, random: SeededRandom): number {
  const [low, high] = [gainRange[0]!, gainRange[1]!]
  for (;;) {
    const gain = 1 + gainSigma * random.normal()
    if (gain >= low && gain <= high) return gain
  }
}
