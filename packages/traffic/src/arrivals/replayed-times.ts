import { type Arrivals, InvalidInputError } from '@pctodl/platform'
import { type ArrivalProcess, positive } from './arrival-process.js'

export interface ReplayedTimesOptions {
  /** Whether to start again after the last arrival. Default false: then the stream ends. */
  readonly repeat?: boolean
  /** Length of the recording, ms. Default: the last time plus the mean gap. */
  readonly lengthMs?: number
}

/**
 * Replays recorded arrivals unchanged.
 *
 * @param timesMs times since the start, ms, in order; not copied
 * @throws InvalidInputError naming the first time that is out of order
 */
export function replayedTimes(
  timesMs: ArrayLike<number>,
  { repeat = false, lengthMs }: ReplayedTimesOptions = {},
): ArrivalProcess {
  const count = timesMs.length
  if (count === 0) throw new InvalidInputError('timesMs', [], 'at least one time')
  for (let i = 0; i < count; i++) {
    const least = i === 0 ? 0 : timesMs[i - 1]!
    if (!(timesMs[i]! >= least && timesMs[i]! < Infinity)) {
      throw new InvalidInputError(`timesMs[${i}]`, timesMs[i], `milliseconds of at least ${least}, the time before it`)
    }
  }
  const lastMs = timesMs[count - 1]!
  if (lastMs === 0 && lengthMs === undefined) {
    throw new InvalidInputError('lengthMs', undefined, 'a length in ms, because everything arrives at 0')
  }
  const length = lengthMs ?? lastMs + lastMs / count
  positive('lengthMs', length, 'milliseconds above 0')
  if (length < lastMs) throw new InvalidInputError('lengthMs', length, `at least ${lastMs}, the last time`)
  return { meanRatePerS: (1000 * count) / length, start: () => new ReplayedTimes(timesMs, repeat ? length : null) }
}

class ReplayedTimes implements Arrivals {
  readonly #timesMs: ArrayLike<number>
  readonly #repeatMs: number | null
  #next = 0
  #offsetMs = 0

  constructor(timesMs: ArrayLike<number>, repeatMs: number | null) {
    this.#timesMs = timesMs
    this.#repeatMs = repeatMs
  }

  nextMs(): number {
    if (this.#next === this.#timesMs.length) {
      if (this.#repeatMs === null) return Number.POSITIVE_INFINITY
      this.#next = 0
      this.#offsetMs += this.#repeatMs
    }
    return this.#offsetMs + this.#timesMs[this.#next++]!
  }
}
