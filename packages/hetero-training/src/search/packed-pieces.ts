import type { GpuOptions } from './option-table.js'

/** A time is kept that is longer by rounding only. */
const SAME_TIME = 1e-12
/** Numbers of a piece, one after the other: first, last, time at the first, its slope, power above idle at the first, its slope. */
const FIELDS = 6

/**
 * The shares of one GPU under one limit as straight lines of time and power, on which the energy of a share is a parabola: whatever
 * is asked of all shares takes as many steps as there are lines.
 */
export class PackedPieces {
  readonly #numbers: Float64Array
  /** What `cheapest` found. */
  share = 0

  constructor(gpu: GpuOptions, limit: number) {
    this.#numbers = Float64Array.from(
      gpu
        .pieces(limit)
        .flatMap(({ first, last, timeS, timeSlope, powerW, powerSlope }) => [
          ...[first, last, timeS, timeSlope],
          ...[powerW - gpu.idlePowerW, powerSlope],
        ]),
    )
  }

  /**
   * The least of energy - `pricePerSample` * share over all shares that take at most `deadlineS`; the share is `share` then.
   *
   * @returns J; infinite where no share is as fast
   */
  cheapest(pricePerSample: number, deadlineS: number): number {
    const numbers = this.#numbers
    const withinS = deadlineS * (1 + SAME_TIME)
    let least = Number.POSITIVE_INFINITY
    for (let at = 0; at < numbers.length; at += FIELDS) {
      const first = numbers[at]!
      const time = numbers[at + 2]!
      const timeSlope = numbers[at + 3]!
      const power = numbers[at + 4]!
      const powerSlope = numbers[at + 5]!
      let from = 0
      let to = numbers[at + 1]! - first
      if (time + timeSlope * to > withinS) {
        if (timeSlope <= 0) continue
        to = Math.floor((withinS - time) / timeSlope)
        if (to < 0) continue
      }
      if (time > withinS) from = Math.ceil((withinS - time) / timeSlope)
      const square = timeSlope * powerSlope
      const linear = time * powerSlope + timeSlope * power - pricePerSample
      let on = from
      let found = (time + timeSlope * from) * (power + powerSlope * from) - pricePerSample * (first + from)
      const atEnd = (time + timeSlope * to) * (power + powerSlope * to) - pricePerSample * (first + to)
      if (atEnd < found) {
        found = atEnd
        on = to
      }
      if (square > 0) {
        const vertex = Math.round(-linear / (2 * square))
        if (vertex > from && vertex < to) {
          found = (time + timeSlope * vertex) * (power + powerSlope * vertex) - pricePerSample * (first + vertex)
          on = vertex
        }
      }
      if (found < least) {
        least = found
        this.share = first + on
      }
    }
    return least
  }

  /** The largest time of a share, s. */
  longestS(): number {
    let longest = 0
    for (let at = 0; at < this.#numbers.length; at += FIELDS) {
      const [first = 0, last = 0, time = 0, slope = 0] = this.#numbers.subarray(at, at + 4)
      longest = Math.max(longest, time, time + slope * (last - first))
    }
    return longest
  }

  /** The most energy of a share above idling, J: an upper bound. */
  mostEnergyJ(): number {
    let most = 0
    for (let at = 0; at < this.#numbers.length; at += FIELDS) {
      const [first = 0, last = 0, time = 0, slope = 0, power = 0, powerSlope = 0] = this.#numbers.subarray(
        at,
        at + FIELDS,
      )
      const on = last - first
      most = Math.max(most, Math.max(time, time + slope * on) * Math.max(power, power + powerSlope * on))
    }
    return most
  }
}
