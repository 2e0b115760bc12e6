import type { GpuOptions } from './option-table.js'
import { MANY_PIECES, type PiecesOfShares, ShareHulls } from './share-hulls.js'

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
  /** Made when it is asked for, of curves of many pieces. */
  #hulls: ShareHulls | null = null
  // What `cheapest` is asked and has found so far: fields, so that the hot loop allocates nothing.
  #price = 0
  #withinS = 0
  #least: number = Number.POSITIVE_INFINITY
  /** What `cheapest` found. */
  share = 0

  constructor(gpu: GpuOptions, limit: number) {
    const pieces = gpu.pieces(limit)
    this.#numbers = new Float64Array(FIELDS * pieces.length)
    pieces.forEach(({ first, last, timeS, timeSlope, powerW, powerSlope }, i) => {
      this.#numbers.set([first, last, timeS, timeSlope, powerW - gpu.idlePowerW, powerSlope], FIELDS * i)
    })
  }

  /**
   * The least of energy - `pricePerSample` * share over all shares that take at most `deadlineS`; the share is `share` then.
   *
   * @returns J; infinite where no share is as fast
   */
  cheapest(pricePerSample: number, deadlineS: number): number {
    this.#price = pricePerSample
    this.#withinS = deadlineS * (1 + SAME_TIME)
    this.#least = Number.POSITIVE_INFINITY
    const count = this.#numbers.length / FIELDS
    if (count <= MANY_PIECES) {
      this.#scan(0, count)
      return this.#least
    }
    this.#hulls ??= this.#hullsOf(count)
    const hulls = this.#hulls
    hulls.visit(pricePerSample, this.#withinS)
    if (hulls.least < this.#least) {
      this.#least = hulls.least
      this.share = hulls.share
    }
    return this.#least
  }

  #scan(begin: number, end: number): void {
    const numbers = this.#numbers
    const pricePerSample = this.#price
    const withinS = this.#withinS
    let least = this.#least
    for (let at = begin * FIELDS; at < end * FIELDS; at += FIELDS) {
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
    this.#least = least
  }

  #hullsOf(count: number): ShareHulls {
    const numbers = this.#numbers
    const on = (piece: number, share: number, field: number) =>
      numbers[piece * FIELDS + field]! + numbers[piece * FIELDS + field + 1]! * (share - numbers[piece * FIELDS]!)
    const timeS = (piece: number, share: number) => on(piece, share, 2)
    const pieces: PiecesOfShares = {
      count,
      firstOf: (piece) => numbers[piece * FIELDS]!,
      lastOf: (piece) => numbers[piece * FIELDS + 1]!,
      timeS,
      energyJ: (piece, share) => timeS(piece, share) * on(piece, share, 4),
    }
    return new ShareHulls(pieces, (from, to) => this.#scan(from, to))
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
