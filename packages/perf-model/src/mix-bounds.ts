import type { BoardConstants } from './board-constants.js'
import { BoardEquations, type KindArrays } from './board-equations.js'
import { tenantLayout as at } from './tenant-coefficients.js'

/**
 * What all tenants of a mix add up to, by index. A tenant feels its neighbours through their number and these only, and is the slower the
 * more there is of each.
 */
export const mixTotals = {
  /** Memory traffic of one batch of each, MB. */
  traffic: 0,
  /** Part of the time in which each would launch kernels if it were alone at the top clocks. */
  launch: 1,
  /** The same for the rest of the host's work. */
  host: 2,
  /** Part of what DRAM can deliver that they draw at the top SM clock, 0..1; the neighbours decide it too, unlike the three above. */
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
  mostDrawn(tenants: number): number
  /** Bound a tenant of a kind in a box: what follows holds until the next call. */
  enter(kind: number, box: MixBox): void
  /** Samples/s. */
  readonly mostThroughput: number
  readonly leastThroughput: number
  /** Time of a batch, ms. */
  readonly leastLatencyMs: number
  /** Watts that the tenant adds at least, were it ever so slow, */
  readonly leastStandingW: number
  /** and joules that each sample adds to that at least. */
  readonly leastJPerSample: number
  /** Part of the host that each sample/s uses up at least: over all tenants of a mix these sum to at most 1. */
  readonly leastHostPerSample: number
  /** What the tenant draws. */
  readonly leastDrawn: number
  readonly mostDrawnByOne: number
}

/**
 * Bounds by the model's own laws. A tenant is the slower, the more all of a mix move, launch, ask of the host and draw, and the faster, the
 * higher the clock: it is fastest in the corner of the box where all totals are least, at the highest clock, and slowest in the
 * opposite one. The energy of a batch is least where the least passes the caches and the lowest clock is.
 */
export class KindBounds implements MixBounds {
  mostThroughput = 0
  leastThroughput = 0
  leastLatencyMs = 0
  leastStandingW = 0
  leastJPerSample = 0
  leastHostPerSample = 0
  leastDrawn = 0
  mostDrawnByOne = 0
  readonly #constants: BoardConstants
  readonly #equations: BoardEquations
  readonly #kinds: KindArrays
  readonly #offsets: readonly number[]
  readonly #corner = { tenants: 1, trafficMb: 0, launch: 0, host: 0, price: 1 }

  /** @param offsets of the kinds' coefficients, demands included */
  constructor(constants: BoardConstants, kinds: KindArrays, offsets: readonly number[]) {
    this.#constants = constants
    this.#equations = new BoardEquations(constants, kinds)
    this.#kinds = kinds
    this.#offsets = offsets
  }

  idlePowerW(memClockMhz: number): number {
    return this.#constants.idlePowerW[this.#constants.memClocksMhz.indexOf(memClockMhz)]!
  }

  adds(kind: number, total: number): number {
    const c = this.#kinds.coefficients
    const offset = this.#offsets[kind]!
    if (total === mixTotals.traffic) return c[offset + at.mixedMb]! + c[offset + at.streamMb]!
    return c[offset + (total === mixTotals.launch ? at.launchDemand : at.hostDemand)]!
  }

  mostDrawn(tenants: number): number {
    let fastest = 0
    for (const offset of this.#offsets) fastest = Math.max(fastest, this.#equations.mostDeviceSpeed(offset, tenants))
    return Math.sqrt(1 - 1 / (1 + (tenants * fastest) / this.#constants.parameters.bandwidthCeiling))
  }

  enter(kind: number, box: MixBox): void {
    const { lowClockMhz, highClockMhz, low, high } = box
    const offset = this.#offsets[kind]!
    const equations = this.#equations
    const perSample = 1e-3 / this.#kinds.coefficients[offset + at.batchSize]!
    this.#enterCorner(offset, box, high)
    this.leastDrawn = equations.drawnMs(this.#missPart(low)) / equations.topBatchMs
    equations.at(lowClockMhz)
    this.leastThroughput = equations.throughput[0]!
    this.#enterCorner(offset, box, low)
    this.mostDrawnByOne = equations.drawnMs(this.#missPart(high)) / equations.topBatchMs
    this.leastHostPerSample = perSample * equations.leastHostMs()
    this.leastStandingW = equations.standingW(lowClockMhz)
    this.leastJPerSample = perSample * equations.leastBatchEnergyMj(lowClockMhz)
    equations.at(highClockMhz)
    this.mostThroughput = equations.throughput[0]!
    this.leastLatencyMs = equations.latencyMs[0]!
  }

  #enterCorner(offset: number, { tenants, memClockMhz }: MixBox, totals: Float64Array): void {
    const corner = this.#corner
    const drawn = totals[mixTotals.drawn]!
    corner.tenants = tenants
    corner.trafficMb = totals[mixTotals.traffic]!
    corner.launch = totals[mixTotals.launch]!
    corner.host = totals[mixTotals.host]!
    corner.price = 1 / (1 - drawn * drawn)
    this.#equations.beginAmid(offset, this.#constants.memClocksMhz.indexOf(memClockMhz), corner)
  }

  #missPart(totals: Float64Array): number {
    const traffic = totals[mixTotals.traffic]!
    return traffic / (traffic + this.#constants.parameters.cacheReachMb)
  }
}
