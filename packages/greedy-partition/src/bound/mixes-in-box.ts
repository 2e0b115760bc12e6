import { type MixBounds, type MixBox, mixTotals } from '@pctodl/perf-model'
import { InvalidInputError } from '@pctodl/platform'
import type { SearchProblem } from '../search-problem.js'

/** Number of resources that are used in proportion to samples/s: power, then the host. */
const RATES = 2
/** First of the rows for the upper ends of the totals; from here on use does not depend on samples/s. */
const HIGH = RATES
/** First of the rows for the lower ends of the totals. */
const LOW = HIGH + mixTotals.length
/** Row of device memory. */
const MEMORY = LOW + mixTotals.length
/** First of the rows that require a tenant of each network, if there are several networks. */
const NETWORKS = MEMORY + 1

/**
 * The kinds of tenants that a box of mixes can contain, each with its maximum value and its minimum resource use.
 * Resources are power, host, memory, the ranges of the totals, and the condition that every network has a tenant; uses
 * are fractions of what is available.
 */
export class MixesInBox {
  /** Number of resources (rows). */
  readonly rows: number
  /** Number of kinds in the box. */
  count = 0
  /** Indices of these kinds. */
  readonly kind: Int32Array
  readonly units: Uint16Array
  readonly weight: Float64Array
  /** Upper bound of samples/s. */
  readonly most: Float64Array
  /** Lower bound of samples/s. */
  readonly least: Float64Array
  /** Power used at any speed, as a fraction of the available power. */
  readonly standing: Float64Array
  /** `rows` uses per kind; the first `RATES` are per sample/s. */
  readonly uses: Float64Array
  /** Available amount of each row. */
  readonly limits: Float64Array
  readonly #problem: SearchProblem
  readonly #bounds: MixBounds
  readonly #adds: Float64Array

  constructor(problem: SearchProblem, bounds: MixBounds) {
    const { networks, tenants } = problem.kinds
    this.#problem = problem
    this.#bounds = bounds
    this.rows = NETWORKS + (networks.length > 1 ? networks.length : 0)
    this.kind = new Int32Array(tenants.length)
    this.units = new Uint16Array(tenants.length)
    this.weight = new Float64Array(tenants.length)
    this.most = new Float64Array(tenants.length)
    this.least = new Float64Array(tenants.length)
    this.standing = new Float64Array(tenants.length)
    this.uses = new Float64Array(tenants.length * this.rows)
    this.limits = new Float64Array(this.rows)
    this.#adds = Float64Array.from({ length: 3 * tenants.length }, (_, i) => bounds.adds(Math.floor(i / 3), i % 3))
  }

  /** Ranges of the totals that contain all mixes of a number of tenants. */
  allTotals(tenants: number): { low: Float64Array; high: Float64Array } {
    const low = new Float64Array(mixTotals.length).fill(Number.POSITIVE_INFINITY, 0, mixTotals.drawn)
    const high = new Float64Array(mixTotals.length)
    this.#adds.forEach((adds, i) => {
      low[i % 3] = Math.min(low[i % 3]!, tenants * adds)
      high[i % 3] = Math.max(high[i % 3]!, tenants * adds)
    })
    high[mixTotals.drawn] = this.#bounds.maxDrawn(tenants)
    return { low, high }
  }

  /** Lower bound of a chosen kind's contribution to a total. */
  addsAtLeast(i: number, total: number, box: MixBox): number {
    return this.uses[i * this.rows + HIGH + total]! * box.high[total]!
  }

  /** Enter the kinds of a box; there are none if the idle power alone exceeds the limit. */
  enter(box: MixBox): void {
    const { kinds, totalUnits, powerLimitW } = this.#problem
    const roomW = powerLimitW - this.#bounds.idlePowerW(box.memClockMhz)
    this.count = 0
    if (roomW <= 0) return
    this.limits.fill(1)
    for (let t = 0; t < mixTotals.length; t++) this.limits[LOW + t] = -partOf(box.low[t]!, box.high[t]!)
    this.limits.fill(-1, NETWORKS)
    const maxUnits = totalUnits - box.tenants + 1
    for (let kind = 0; kind < kinds.tenants.length; kind++) {
      if (kinds.units[kind]! <= maxUnits && this.#mayBeIn(kind, box)) this.#add(kind, box, roomW)
    }
  }

  #mayBeIn(kind: number, { high }: MixBox): boolean {
    for (let t = 0; t < 3; t++) if (this.#adds[3 * kind + t]! > high[t]!) return false
    return true
  }

  #add(kind: number, box: MixBox, roomW: number): void {
    const { kinds, weights, memoryBytes, latencySloMs, latencyPercentile, minTenantThroughput } = this.#problem
    const bounds = this.#bounds
    const network = kinds.network[kind]!
    bounds.enter(kind, box)
    const { minThroughput, maxThroughput, minStandingW, minJPerSample, minHostPerSample } = bounds
    const anything = minThroughput + maxThroughput + minStandingW + minJPerSample + minHostPerSample
    if (Number.isNaN(anything)) {
      // NaN would pass every comparison below and make the bound invalid.
      throw new InvalidInputError('predictor.mixBounds', anything, `numbers for ${JSON.stringify(kinds.tenants[kind])}`)
    }
    if (maxThroughput < minTenantThroughput[network]!) return
    if (latencyPercentile === 'mean' && bounds.minLatencyMs > latencySloMs[network]!) return
    const { high } = box
    const { uses, rows, count } = this
    const from = count * rows
    this.kind[count] = kind
    this.units[count] = kinds.units[kind]!
    this.weight[count] = weights[network]!
    this.most[count] = maxThroughput
    this.least[count] = minThroughput
    this.standing[count] = minStandingW / roomW
    uses[from] = minJPerSample / roomW
    uses[from + 1] = minHostPerSample
    for (let t = 0; t < 3; t++) {
      uses[from + HIGH + t] = partOf(this.#adds[3 * kind + t]!, high[t]!)
      uses[from + LOW + t] = -uses[from + HIGH + t]!
    }
    uses[from + HIGH + mixTotals.drawn] = bounds.minDrawn / high[mixTotals.drawn]!
    uses[from + LOW + mixTotals.drawn] = -bounds.maxDrawnByOne / high[mixTotals.drawn]!
    uses[from + MEMORY] = kinds.memoryBytes[kind]! / memoryBytes
    for (let row = NETWORKS; row < rows; row++) uses[from + row] = row - NETWORKS === network ? -1 : 0
    this.count++
  }

  /**
   * Value of a kind at given prices, weighted samples/s.
   *
   * @param priced rows with a price above 0, without the rows per sample/s
   */
  worth(i: number, prices: Float64Array, priced: readonly number[]): number {
    const from = i * this.rows
    const gain = this.gain(i, prices)
    let worth = gain * (gain > 0 ? this.most[i]! : this.least[i]!) - prices[0]! * this.standing[i]!
    for (const row of priced) worth -= prices[row]! * this.uses[from + row]!
    return worth
  }

  /** Rows with a price above 0, without the rows per sample/s. */
  pricedRows(prices: Float64Array): readonly number[] {
    const priced: number[] = []
    for (let row = RATES; row < this.rows; row++) if (prices[row]! > 0) priced.push(row)
    return priced
  }

  /** Value of one sample/s net of its prices. */
  gain(i: number, prices: Float64Array): number {
    const from = i * this.rows
    return this.weight[i]! - prices[0]! * this.uses[from]! - prices[1]! * this.uses[from + 1]!
  }

  /** Throughput of highest net value: the minimum where a sample/s is worth less than it costs. */
  rateAt(i: number, prices: Float64Array): number {
    return this.gain(i, prices) > 0 ? this.most[i]! : this.least[i]!
  }

  /** Subtract a kind's use at given prices from what is left. */
  use(i: number, prices: Float64Array, left: Float64Array): void {
    const from = i * this.rows
    const rate = this.rateAt(i, prices)
    left[0]! -= this.standing[i]!
    for (let row = 0; row < this.rows; row++) left[row]! -= this.uses[from + row]! * (row < RATES ? rate : 1)
  }
}

/** Fraction of a total; 0 if no tenant contributes to it, such as host work of networks that need none. */
function partOf(amount: number, whole: number): number {
  return whole > 0 ? amount / whole : 0
}
