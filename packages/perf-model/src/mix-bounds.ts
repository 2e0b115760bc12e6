import { type BoardConstants, relativeVoltage, smoothMax2 } from './board-constants.js'
import { correctionsOf, factorAt, type KindArrays, Mix, prepareAmid, runLayout as run } from './mix.js'
import { Solution, solve } from './solve.js'
import { tenantLayout as at } from './tenant-coefficients.js'

/**
 * What all tenants of a mix add up to, by index. A tenant feels its co-runners through their number and these only, and is the slower the
 * more there is of each.
 */
export const mixTotals = {
  /** Memory traffic of one batch of each, MB. */
  traffic: 0,
  /** Part of the time in which each would launch kernels if it were alone at the top clocks. */
  launch: 1,
  /** The same for the rest of the host's work. */
  host: 2,
  /** Part of what DRAM can deliver that they draw at the top SM clock, 0..1; the co-runners decide it too, unlike the three above. */
  drawn: 3,
  length: 4,
} as const

/** Mixes of so many tenants, at clocks in a range, whose totals lie in ranges. */
export interface MixBox {
  readonly tenants: number
  readonly memClockMhz: number
  readonly lowClockMhz: number
  readonly highClockMhz: number
  /** As `mixTotals` lays them out. */
  readonly low: Float64Array
  readonly high: Float64Array
}

/** What tenants do at best and take at least in any mix of a box, for searches that have to say how good a plan is. */
export interface MixBounds {
  /** Power of the board that no tenant adds to, W. */
  idlePowerW(memClockMhz: number): number
  /** What a tenant of a kind adds to one of the first three totals, wherever it is. */
  adds(kind: number, total: number): number
  /** The most that so many tenants can draw. */
  maxDrawn(tenants: number): number
  /** Bound a tenant of a kind in a box: what follows holds until the next call. */
  enter(kind: number, box: MixBox): void
  /** Samples/s. */
  readonly maxThroughput: number
  readonly minThroughput: number
  /** Time of a batch, ms. */
  readonly minLatencyMs: number
  /** Lower bound on the watts that the tenant adds, however slow it is. */
  readonly minStandingW: number
  /** Lower bound on the joules that each sample adds to that. */
  readonly minJPerSample: number
  /** Lower bound on the share of the host that each sample/s takes. Times throughput, summed over a mix, it cannot exceed 1. */
  readonly minHostPerSample: number
  /** What the tenant draws. */
  readonly minDrawn: number
  readonly maxDrawnByOne: number
}

/**
 * Bounds by the model's own laws. A tenant is the slower, the more all of a mix move, launch, ask of the host and draw, and the faster, the
 * higher the clock: it is fastest in the corner of the box where all totals are least, at the highest clock, and slowest in the
 * opposite one. The energy of a batch is least where the least passes the caches and the lowest clock is.
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

  /** Time that a batch takes of what DRAM can deliver, where so much of its traffic passes the caches, ms. */
  #drawnMs(offset: number, totals: Float64Array): number {
    const c = this.#kinds.coefficients
    const { msPerMb, parameters } = this.#board
    const traffic = totals[mixTotals.traffic]!
    const missPart = traffic / (traffic + parameters.cacheReachMb)
    const megabytes = c[offset + at.mixedMb]! + c[offset + at.streamMb]!
    return (megabytes * msPerMb[this.#mix.memIndex]! * missPart) / parameters.bandwidthCeiling
  }

  /**
   * What of the host's capacity a batch uses up at least, ms, such that mixes of at least such totals and price use no more than all of it.
   * With x = host time / unqueued time and d the same of the batch time alone, the capacity lets a tenant have at most x / (x + others' d)
   * of itself, which is at most max(1, x / d) times its part of all d.
   */
  #minHostMs(offset: number): number {
    const c = this.#kinds.coefficients
    const { terms } = this.#mix
    const demand = c[offset + at.hostDemand]!
    if (demand === 0) return 0
    const busier = c[offset + at.hostMs]! / (terms[run.topUnqueuedMs]! * demand)
    return terms[run.hostShareMs]! / Math.max(1, busier)
  }

  /** Watts that the tenant adds at a clock however slow it is. */
  #standingW(smClockMhz: number): number {
    const { parameters, boostClockMhz } = this.#board
    const clock = smClockMhz / boostClockMhz
    const voltage = relativeVoltage(parameters, clock)
    return (this.#mix.terms[run.watts]! * voltage * voltage * clock * parameters.clockTreePowerW) / this.#mix.tenants
  }

  /**
   * The least energy that a batch takes beside `#standingW` at a clock or above, mJ, where nobody waits less for DRAM than at the price. A
   * batch slows down at most in proportion to the clock, so that the price at a clock is at least that of so slow others.
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
