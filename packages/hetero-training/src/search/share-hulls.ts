/** Curves of more pieces than this are asked through hulls. */
export const MANY_PIECES = 64
/** Pieces below which all of them are looked at. */
const LEAF_PIECES = 16

/** A stretch of pieces with the lower convex hull of energy over its shares. */
interface Stretch {
  readonly from: number
  readonly to: number
  readonly earliestS: number
  readonly latestS: number
  /** Corners of the hull, ascending. */
  readonly shares: Int32Array
  readonly energyJ: Float64Array
  readonly halves: readonly [Stretch, Stretch] | null
}

/** What a stretch is made of. */
export interface PiecesOfShares {
  readonly count: number
  /** Inclusive. */
  firstOf(piece: number): number
  lastOf(piece: number): number
  timeS(piece: number, share: number): number
  energyJ(piece: number, share: number): number
}

/**
 * The least of energy - price * share over the pieces of a curve within a deadline, in a time that grows with the logarithm of their
 * number: halves of halves of the pieces, each with its lower convex hull, which answers for all of its shares where none is too late. Small
 * micro-batches make a thousand pieces of one curve, and a search asks a million times.
 */
export class ShareHulls {
  readonly #root: Stretch
  readonly #scan: (from: number, to: number) => void
  /** Of the corners that were visited in the last `visit`: the share with the least. */
  share = 0
  least: number = Number.POSITIVE_INFINITY

  /** @param scan looks at all shares of pieces `from` to `to` (exclusive) that are not too late */
  constructor(pieces: PiecesOfShares, scan: (from: number, to: number) => void) {
    this.#root = stretchOf(pieces, 0, pieces.count)
    this.#scan = scan
  }

  visit(pricePerSample: number, withinS: number): void {
    this.least = Number.POSITIVE_INFINITY
    this.#visit(this.#root, pricePerSample, withinS)
  }

  #visit(stretch: Stretch, price: number, withinS: number): void {
    if (stretch.earliestS > withinS) return
    if (stretch.latestS > withinS) {
      if (stretch.halves === null) this.#scan(stretch.from, stretch.to)
      else {
        this.#visit(stretch.halves[0], price, withinS)
        this.#visit(stretch.halves[1], price, withinS)
      }
      return
    }
    const { shares, energyJ } = stretch
    let low = 0
    let high = shares.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      const rise = energyJ[middle + 1]! - energyJ[middle]!
      if (rise < price * (shares[middle + 1]! - shares[middle]!)) low = middle + 1
      else high = middle
    }
    const found = energyJ[low]! - price * shares[low]!
    if (found < this.least) {
      this.least = found
      this.share = shares[low]!
    }
  }
}

function stretchOf(pieces: PiecesOfShares, from: number, to: number): Stretch {
  if (to - from <= LEAF_PIECES) {
    const hull = new Hull()
    let earliestS = Number.POSITIVE_INFINITY
    let latestS = 0
    for (let piece = from; piece < to; piece++) {
      for (let share = pieces.firstOf(piece); share <= pieces.lastOf(piece); share++) {
        const seconds = pieces.timeS(piece, share)
        earliestS = Math.min(earliestS, seconds)
        latestS = Math.max(latestS, seconds)
        hull.add(share, pieces.energyJ(piece, share))
      }
    }
    return { from, to, earliestS, latestS, ...hull.corners(), halves: null }
  }
  const middle = (from + to) >> 1
  const halves = [stretchOf(pieces, from, middle), stretchOf(pieces, middle, to)] as const
  const hull = new Hull()
  for (const { shares, energyJ } of halves) for (let i = 0; i < shares.length; i++) hull.add(shares[i]!, energyJ[i]!)
  return {
    from,
    to,
    earliestS: Math.min(halves[0].earliestS, halves[1].earliestS),
    latestS: Math.max(halves[0].latestS, halves[1].latestS),
    ...hull.corners(),
    halves,
  }
}

/** Andrew's monotone chain, lower half: points in the order of their shares. */
class Hull {
  readonly #shares: number[] = []
  readonly #energyJ: number[] = []

  add(share: number, energyJ: number): void {
    const [x, y] = [this.#shares, this.#energyJ]
    while (x.length > 1) {
      const a = x.length - 2
      const b = x.length - 1
      if ((y[b]! - y[a]!) * (share - x[a]!) < (energyJ - y[a]!) * (x[b]! - x[a]!)) break
      x.pop()
      y.pop()
    }
    x.push(share)
    y.push(energyJ)
  }

  corners() {
    return { shares: Int32Array.from(this.#shares), energyJ: Float64Array.from(this.#energyJ) }
  }
}
