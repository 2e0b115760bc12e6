import { SeededRandom } from '@pctodl/numerics'
import { type Arrivals, InvalidInputError } from '@pctodl/platform'
import { type ArrivalProcess, notNegative, positive } from './arrival-process.js'
import { exponential } from './random-gaps.js'

export interface TrafficState {
  /** Rate while the state lasts, requests/s; 0 for silence. */
  readonly ratePerS: number
  /** Mean duration of the state, ms; durations are exponentially distributed. */
  readonly meanDwellMs: number
}

export interface MarkovModulatedArrivalsOptions {
  /**
   * At least two states, one of them with requests. Each state is followed by one of the others, all equally probable.
   */
  readonly states: readonly TrafficState[]
}

/**
 * A Poisson process whose rate switches between states, such as calm and burst, or on and off. The initial state is
 * drawn from the stationary distribution.
 */
export function markovModulatedArrivals({ states }: MarkovModulatedArrivalsOptions): ArrivalProcess {
  if (!Array.isArray(states) || states.length < 2) throw new InvalidInputError('states', states, 'at least two states')
  states.forEach(({ ratePerS, meanDwellMs }, i) => {
    notNegative(`states[${i}].ratePerS`, ratePerS, 'requests/s of at least 0')
    positive(`states[${i}].meanDwellMs`, meanDwellMs, 'milliseconds above 0')
  })
  const dwellMs = states.reduce((sum, state) => sum + state.meanDwellMs, 0)
  const requests = states.reduce((sum, state) => sum + state.ratePerS * state.meanDwellMs, 0)
  if (requests === 0) throw new InvalidInputError('states', states, 'a state with a rate above 0')
  return { meanRatePerS: requests / dwellMs, start: (seed) => new MarkovModulatedArrivals(states, dwellMs, seed) }
}

class MarkovModulatedArrivals implements Arrivals {
  readonly #states: readonly TrafficState[]
  readonly #random: SeededRandom
  #state = 0
  #timeMs = 0
  #untilMs: number

  constructor(states: readonly TrafficState[], totalDwellMs: number, seed: number) {
    this.#states = states
    this.#random = new SeededRandom(seed)
    let left = this.#random.uniform() * totalDwellMs
    while (this.#state < states.length - 1 && left >= states[this.#state]!.meanDwellMs) {
      left -= states[this.#state++]!.meanDwellMs
    }
    this.#untilMs = states[this.#state]!.meanDwellMs * exponential(this.#random)
  }

  nextMs(): number {
    for (;;) {
      const { ratePerS } = this.#states[this.#state]!
      const timeMs =
        ratePerS > 0 ? this.#timeMs + (1000 / ratePerS) * exponential(this.#random) : Number.POSITIVE_INFINITY
      if (timeMs <= this.#untilMs) {
        this.#timeMs = timeMs
        return timeMs
      }
      // Exponential gaps have no memory, so the rest of the gap is drawn anew at the next state's rate.
      this.#timeMs = this.#untilMs
      const others = this.#states.length - 1
      this.#state = (this.#state + 1 + this.#random.integer(others)) % this.#states.length
      this.#untilMs += this.#states[this.#state]!.meanDwellMs * exponential(this.#random)
    }
  }
}
