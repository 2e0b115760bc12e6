import { type BoardConstants, relativeVoltage, smoothMax2 } from './board-constants.js'
import { correctionsOf, factorAt, type KindArrays, Mix, prepareAmid, runLayout as run } from './mix.js'
import { Solution, solve } from './solve.js'
import { tenantLayout as at } from './tenant-coefficients.js'

/**
 * Indices of the totals over all tenants of a mix. A tenant depends on its co-runners only through their number and
 * these totals, and gets slower as any of them grows.
 */
export const mixTotals = {
  /** Memory traffic of one batch of every tenant, MB. */
  traffic: 0,
  /** Sum of the fractions of time in which each tenant, alone at the top clocks, would launch kernels. */
  launch: 1,
  /** Sum of the fractions of time in which each tenant, alone at the top clocks, would do other host work. */
  host: 2,
  /**
   * Fraction of DRAM's deliverable bandwidth drawn at the top SM clock, 0..1. Unlike the three totals above, it also
   * depends on the co-runners.
   */
  drawn: 3,
  length: 4,
} as const

/** All mixes of a given number of tenants whose clock and totals lie in the given ranges. */
export interface MixBox {
  readonly tenants: number
  readonly memClockMhz: number
  readonly lowClockMhz: number
  readonly highClockMhz: number
  /** Lower ends of the totals, indexed by `mixTotals`. */
  readonly low: Float64Array
  /** Upper ends of the totals. */
  readonly high: Float64Array
}

/** Bounds on a tenant's speed and cost in any mix of a box, for searches that compute an upper bound. */
export interface MixBounds {
  /** Power of the board without any tenant, W. */
  idlePowerW(memClockMhz: number): number
  /** Contribution of a kind to one of the first three totals, which is the same in every mix. */
  adds(kind: number, total: number): number
  /** Upper bound of the `drawn` total for a number of tenants. */
  maxDrawn(tenants: number): number
  /** Compute the bounds of a kind in a box; the fields below hold until the next call. */
  enter(kind: number, box: MixBox): void
  /** Throughput, samples/s. */
  readonly maxThroughput: number
  readonly minThroughput: number
  /** Shortest time of a batch, ms. */
  readonly minLatencyMs: number
  /** Lower bound of the power that the tenant adds at any speed, W. */
  readonly minStandingW: number
  /** Lower bound of the energy that each sample adds to that, J. */
  readonly minJPerSample: number
  /**
   * Lower bound of the host capacity used per sample/s, as a fraction: over all tenants of a mix these sum to at most
   * 1.
   */
  readonly minHostPerSample: number
  /** Lower bound of the tenant's part of `drawn`. */
  readonly minDrawn: number
  /** Upper bound of the tenant's part of `drawn`. */
  readonly maxDrawnByOne: number
}

/**
 * Bounds from the monotonicity of the model. A tenant gets slower as any total of the mix grows, and faster as the
 * clock rises. So it is fastest in the box corner with the smallest totals and the highest clock, and slowest in the
 * opposite corner. The energy of a batch is least at the smallest traffic and the lowest clock.
 */
export class KindBounds implements MixBounds {
  maxThroughput = 0
  minThroughput = 0
  minLatencyMs = 0
  minStandingW = 0
  minJPerSample = 0
  minHostPerSample = 0
  minDrawn = 0
  maxDrawnByOne = 0
  readonly #board: BoardConstants
  readonly #kinds: KindArrays
  readonly #offsets: readonly number[]
  readonly #mix = new Mix()
  readonly #solution = new Solution()

  /** @param offsets of the kinds' coefficients, demands included */
  constructor(board: BoardConstants, kinds: KindArrays, offsets: readonly number[]) {
    this.#board = board
    this.#kinds = kinds
    this.#offsets = offsets
  }

  idlePowerW(memClockMhz: number): number {
    return this.#board.idlePowerW[this.#board.memClocksMhz.indexOf(memClockMhz)]!
  }

  adds(kind: number, total: number): number {
    const c = this.#kinds.coefficients
    const offset = this.#offsets[kind]!
    if (total === mixTotals.traffic) return c[offset + at.mixedMb]! + c[offset + at.streamMb]!
    return c[offset + (total === mixTotals.launch ? at.launchDemand : at.hostDemand)]!
  }

  maxDrawn(tenants: number): number {
    const board = this.#board
    let fastest = 0
    for (const offset of this.#offsets) {
      for (let m = 0; m < board.memClocksMhz.length; m++) {
        fastest = Math.max(fastest, factorAt(this.#kinds.corrections, correctionsOf(board, offset, m), tenants))
      }
    }
    return Math.sqrt(1 - 1 / (1 + (tenants * fastest) / board.parameters.bandwidthCeiling))
  }

  enter(kind: number, box: MixBox): void {
    const { lowClockMhz, highClockMhz, low, high } = box
    const offset = this.#offsets[kind]!
    const { terms } = this.#mix
    const perSample = 1e-3 / this.#kinds.coefficients[offset + at.batchSize]!
    this.#enterCorner(offset, box, high)
    this.minDrawn = this.#drawnMs(offset, low) / terms[run.topMs]!
    this.minThroughput = this.#solved(lowClockMhz).throughput[0]!
    this.#enterCorner(offset, box, low)
    this.maxDrawnByOne = this.#drawnMs(offset, high) / terms[run.topMs]!
    this.minHostPerSample = perSample * this.#minHostMs(offset)
    this.minStandingW = this.#standingW(lowClockMhz)
    this.minJPerSample = perSample * this.#minBatchEnergyMj(offset, lowClockMhz)
    const fastest = this.#solved(highClockMhz)
    this.maxThroughput = fastest.throughput[0]!
    this.minLatencyMs = fastest.latencyMs[0]!
  }

  #solved(smClockMhz: number): Solution {
    solve(this.#board, this.#kinds, this.#mix, smClockMhz, this.#solution)
    return this.#solution
  }

  #enterCorner(offset: number, { tenants, memClockMhz }: MixBox, totals: Float64Array): void {
    const drawn = totals[mixTotals.drawn]!
    const surroundings = {
      tenants,
      trafficMb: totals[mixTotals.traffic]!,
      launch: totals[mixTotals.launch]!,
      host: totals[mixTotals.host]!,
      price: 1 / (1 - drawn * drawn),
    }
    const memIndex = this.#board.memClocksMhz.indexOf(memClockMhz)
    prepareAmid(this.#board, this.#kinds, offset, memIndex, surroundings, this.#mix)
  }

  /** Time that a batch occupies DRAM at its ceiling, given the totals' cache miss rate, ms. */
  #drawnMs(offset: number, totals: Float64Array): number {
    const c = this.#kinds.coefficients
    const { msPerMb, parameters } = this.#board
    const traffic = totals[mixTotals.traffic]!
    const missPart = traffic / (traffic + parameters.cacheReachMb)
    const megabytes = c[offset + at.mixedMb]! + c[offset + at.streamMb]!
    return (megabytes * msPerMb[this.#mix.memIndex]! * missPart) / parameters.bandwidthCeiling
  }

  /**
   * Lower bound of the host capacity that a batch uses, ms, such that the sum over any mix with at least these totals
   * and price is at most the whole capacity. With x = host time / unqueued time and d the same ratio of the batch time
   * alone, the capacity gives a tenant at most x / (x + others' d), which is at most max(1, x / d) times its share of
   * the sum of all d.
   */
  #minHostMs(offset: number): number {
    const c = this.#kinds.coefficients
    const { terms } = this.#mix
    const demand = c[offset + at.hostDemand]!
    if (demand === 0) return 0
    const busier = c[offset + at.hostMs]! / (terms[run.topUnqueuedMs]! * demand)
    return terms[run.hostShareMs]! / Math.max(1, busier)
  }

  /** Power that the tenant adds at a clock at any speed, W. */
  #standingW(smClockMhz: number): number {
    const { parameters, boostClockMhz } = this.#board
    const clock = smClockMhz / boostClockMhz
    const voltage = relativeVoltage(parameters, clock)
    return (this.#mix.terms[run.watts]! * voltage * voltage * clock * parameters.clockTreePowerW) / this.#mix.tenants
  }

  /**
   * Lower bound of the energy of a batch beyond `#standingW`, at this clock or above, mJ, where nobody sees a DRAM
   * price below the corner's. A batch slows down at most in proportion to the clock, so the price at a clock is at
   * least the price with co-runners that are slowed down in that proportion.
   */
  #minBatchEnergyMj(offset: number, smClockMhz: number): number {
    const c = this.#kinds.coefficients
    const { terms, msPerMb, missPart, topDemand } = this.#mix
    const { parameters, boostClockMhz, topClockMhz } = this.#board
    const clock = smClockMhz / boostClockMhz
    const square = relativeVoltage(parameters, clock) ** 2
    const pace = Math.min(1, smClockMhz / topClockMhz)
    const price = 1 / (1 - topDemand * pace * pace)
    const ownMsPerMb = smoothMax2(terms[run.ownCycles]! / smClockMhz, msPerMb) * price
    const deviceMs =
      smoothMax2(terms[run.cycles]! / smClockMhz, terms[run.mixedMb]! * ownMsPerMb) +
      terms[run.streamMb]! * ownMsPerMb +
      terms[run.gapMs]!
    const smMj = square * clock * parameters.smPowerW * c[offset + at.sms]! * deviceMs
    const mj = square * c[offset + at.coreEnergyMj]! + missPart * c[offset + at.memoryEnergyMj]!
    return terms[run.watts]! * (smMj + mj)
  }
}
