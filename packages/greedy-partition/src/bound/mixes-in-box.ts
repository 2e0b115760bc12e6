import { type MixBounds, type MixBox, mixTotals } from '@pctodl/perf-model'
import { InvalidInputError } from '@pctodl/platform'
import type { SearchProblem } from '../search-problem.js'

/** What kinds use of something by the samples/s that they do: watts, then the host. */
const RATES = 2
/** What they use by being there: the upper ends of the totals, the lower ones, memory, then one row for each of several networks. */
const HIGH = RATES
const LOW = HIGH + mixTotals.length
const MEMORY = LOW + mixTotals.length
const NETWORKS = MEMORY + 1

/**
 * The kinds of tenants that a box of mixes can have, each with what it is worth at best and what it uses at least, in parts of
 * what there is: watts, the host, memory, the ranges of the totals, and that every network has a tenant.
 */
export class MixesInBox {
  /** Number of things that are used. */
  readonly rows: number
  /** How many kinds the box has. */
  count = 0
  /** Which these are. */
  readonly kind: Int32Array
  readonly units: Uint16Array
  readonly weight: Float64Array
  /** Samples/s. */
  readonly most: Float64Array
  readonly least: Float64Array
  /** Of watts, by being there. */
  readonly standing: Float64Array
  /** `rows` numbers a kind; the first ones by a sample/s. */
  readonly uses: Float64Array
  /** How much of each row there is. */
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

  /** Ranges of the totals that hold all mixes of so many tenants. */
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

  /** What a chosen kind adds to a total at least. */
  addsAtLeast(i: number, total: number, box: MixBox): number {
    return this.uses[i * this.rows + HIGH + total]! * box.high[total]!
  }

  /** Without any kind where no mix of the box can keep the cap. */
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
      // What compares with nothing would count as what cannot be.
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
   * What a kind is worth at some prices, weighted samples/s.
   *
   * @param priced rows with a price above 0, those that count by samples/s left out
   */
  worth(i: number, prices: Float64Array, priced: readonly number[]): number {
    const from = i * this.rows
    const gain = this.gain(i, prices)
    let worth = gain * (gain > 0 ? this.most[i]! : this.least[i]!) - prices[0]! * this.standing[i]!
    for (const row of priced) worth -= prices[row]! * this.uses[from + row]!
    return worth
  }

  /** Rows that have a price and do not count by samples/s. */
  pricedRows(prices: Float64Array): readonly number[] {
    const priced: number[] = []
    for (let row = RATES; row < this.rows; row++) if (prices[row]! > 0) priced.push(row)
    return priced
  }

  /** What a sample/s of it is worth, */
  gain(i: number, prices: Float64Array): number {
    const from = i * this.rows
    return this.weight[i]! - prices[0]! * this.uses[from]! - prices[1]! * this.uses[from + 1]!
  }

  /** and so how many it does: at a loss as few as it can. */
  rateAt(i: number, prices: Float64Array): number {
    return this.gain(i, prices) > 0 ? this.most[i]! : this.least[i]!
  }

  /** Take what a kind uses at some prices off what is left. */
  use(i: number, prices: Float64Array, left: Float64Array): void {
    const from = i * this.rows
    const rate = this.rateAt(i, prices)
    left[0]! -= this.standing[i]!
    for (let row = 0; row < this.rows; row++) left[row]! -= this.uses[from + row]! * (row < RATES ? rate : 1)
  }
}

/** Of a total that no tenant adds to, such as the host's work of networks that need none, every part is 0. */
function partOf(amount: number, whole: number): number {
  return whole > 0 ? amount / whole : 0
}
