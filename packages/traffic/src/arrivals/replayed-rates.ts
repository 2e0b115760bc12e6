import { SeededRandom } from '@pctodl/numerics'
import { type Arrivals, InvalidInputError } from '@pctodl/platform'
import { type ArrivalProcess, notNegative, positive } from './arrival-process.js'
import { exponential } from './random-gaps.js'

export interface ReplayedRatesOptions {
  /** Rates of consecutive steps, requests/s. */
  readonly ratesPerS: ArrayLike<number>
  /**
   * Length of every step, ms; or the start of each step and the end of the last one, ms. The latter has one entry more
   * than there are rates.
   */
  readonly stepMs: number | ArrayLike<number>
  /** How requests are spaced within a step: at random or evenly. Default `poisson`. */
  readonly spacing?: 'poisson' | 'even'
  /** Whether to start again after the last step. Default false. */
  readonly repeat?: boolean
}

/** Arrivals at recorded or designed rates, such as steps, ramps, or a day in 1,440 minutes. */
export function replayedRates({
  ratesPerS,
  stepMs,
  spacing = 'poisson',
  repeat = false,
}: ReplayedRatesOptions): ArrivalProcess {
  const count = ratesPerS.length
  if (count === 0) throw new InvalidInputError('ratesPerS', [], 'at least one rate')
  const edgesMs = new Float64Array(count + 1)
  if (typeof stepMs === 'number') {
    positive('stepMs', stepMs, 'milliseconds above 0')
    for (let i = 0; i <= count; i++) edgesMs[i] = i * stepMs
  } else {
    if (stepMs.length !== count + 1) {
      throw new InvalidInputError('stepMs', stepMs.length, `${count + 1} times, one more than there are rates`)
    }
    for (let i = 0; i <= count; i++) {
      const inOrder = i === 0 ? stepMs[0] === 0 : stepMs[i]! > stepMs[i - 1]! && stepMs[i]! < Infinity
      if (!inOrder) throw new InvalidInputError(`stepMs[${i}]`, stepMs[i], 'times in ms that begin with 0 and rise')
      edgesMs[i] = stepMs[i]!
    }
  }
  let requests = 0
  for (let i = 0; i < count; i++) {
    notNegative(`ratesPerS[${i}]`, ratesPerS[i]!, 'requests/s of at least 0')
    requests += (ratesPerS[i]! * (edgesMs[i + 1]! - edgesMs[i]!)) / 1000
  }
  if (repeat && requests === 0) throw new InvalidInputError('ratesPerS', 0, 'a rate above 0, to repeat')
  if (spacing !== 'poisson' && spacing !== 'even') {
    throw new InvalidInputError('spacing', spacing, "'poisson' or 'even'")
  }
  return {
    meanRatePerS: (1000 * requests) / edgesMs[count]!,
    start: (seed) => new ReplayedRates(ratesPerS, edgesMs, repeat, spacing === 'even' ? null : new SeededRandom(seed)),
  }
}

/** Finds the time at which the integral of the rate reaches each request. This is exact for steps of any length. */
class ReplayedRates implements Arrivals {
  readonly #ratesPerS: ArrayLike<number>
  readonly #edgesMs: Float64Array
  readonly #repeat: boolean
  readonly #random: SeededRandom | null
  #step = 0
  /** Time within the recording, ms. */
  #timeMs = 0
  #offsetMs = 0

  constructor(
    ratesPerS: ArrayLike<number>,
    edgesMs: Float64Array,
    repeat: boolean,
    /** null: evenly spaced. */
    random: SeededRandom | null,
  ) {
    this.#ratesPerS = ratesPerS
    this.#edgesMs = edgesMs
    this.#repeat = repeat
    this.#random = random
  }

  nextMs(): number {
    let wanted = this.#random === null ? 1 : exponential(this.#random)
    for (;;) {
      if (this.#step === this.#ratesPerS.length) {
        if (!this.#repeat) return Number.POSITIVE_INFINITY
        this.#offsetMs += this.#edgesMs[this.#step]!
        this.#step = 0
        this.#timeMs = 0
      }
      const perMs = this.#ratesPerS[this.#step]! / 1000
      const endMs = this.#edgesMs[this.#step + 1]!
      const left = perMs * (endMs - this.#timeMs)
      if (wanted <= left) {
        this.#timeMs = Math.min(endMs, this.#timeMs + wanted / perMs)
        return this.#offsetMs + this.#timeMs
      }
      wanted -= left
      this.#timeMs = endMs
      this.#step++
    }
  }
}
