import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import type { BoardConstants } from './board-constants.js'
import { smoothMax2, smoothMax4, smoothMax8 } from './smooth-max.js'
import { tenantLayout as at } from './tenant-coefficients.js'

/**
 * Relative step below which a fixed point counts as found. Secant steps multiply the last two errors, so what remains after
 * such a step is of the order of 1e-11.
 */
const LAST_STEP = 1e-7

/**
 * The model's equations for a set of tenants on one board, over plain arrays and without allocation. Put the tenants'
 * coefficients into `offsets`, call `begin`, then `at` for one SM clock after another; results stay in the fields until
 * the next call. The README derives the equations and says why throughput is monotone.
 */
export class Evaluator {
  /** Offsets of the tenants' coefficients; `begin` says how many are in use. */
  readonly offsets = new Int32Array(MAX_MPS_CLIENTS)
  /** Samples/s by tenant. */
  readonly throughput = new Float64Array(MAX_MPS_CLIENTS)
  /** Time of a batch from start to end by tenant, ms. */
  readonly latencyMs = new Float64Array(MAX_MPS_CLIENTS)
  totalThroughput = 0
  powerW = 0
  smUtilPercent = 0
  memUtilPercent = 0

  constants: BoardConstants
  readonly #coefficients: Float64Array
  /** Demands of the other tenants, each as if alone at the top clocks. */
  readonly #launchOthers = new Float64Array(MAX_MPS_CLIENTS)
  readonly #hostOthers = new Float64Array(MAX_MPS_CLIENTS)
  /** Batch times at the top clock, ms. */
  readonly #topMs = new Float64Array(MAX_MPS_CLIENTS)
  #count = 0
  #memIndex = 0
  /** Part of the memory traffic that caches do not keep away from DRAM. */
  #missPart = 1
  /** Time per MB of memory traffic at peak bandwidth, ms. */
  #msPerMb = 0
  /** How many times longer an access takes than without waiting, at the top clock. */
  #topPrice = 1
  /** DRAM demand at the top clock in parts of the ceiling, 0..1. */
  #topDemand = 0
  /** Device time of the batch that `#batchMs` looked at last, ms. */
  #deviceMs = 0

  constructor(constants: BoardConstants, coefficients: Float64Array) {
    this.constants = constants
    this.#coefficients = coefficients
  }

  /** Complete the coefficients of one kind of tenant: what it asks of the host when it is alone at the top clocks. */
  writeDemands(offset: number): void {
    const c = this.#coefficients
    this.#enterMemory(0, c[offset + at.mixedMb]! + c[offset + at.streamMb]!)
    this.#launchOthers[0] = 0
    this.#hostOthers[0] = 0
    const batchMs = this.#batchMs(0, offset, this.constants.topClockMhz, 1, 0)
    c[offset + at.launchDemand] = c[offset + at.launchMs]! / batchMs
    c[offset + at.hostDemand] = c[offset + at.hostMs]! / batchMs
  }

  /** Take up the first `count` tenants of `offsets` and work out what they cost each other at the top clock. */
  begin(count: number, memIndex: number): void {
    const c = this.#coefficients
    this.#count = count
    let traffic = 0
    let launch = 0
    let host = 0
    for (let i = 0; i < count; i++) {
      const offset = this.offsets[i]!
      traffic += c[offset + at.mixedMb]! + c[offset + at.streamMb]!
      launch += c[offset + at.launchDemand]!
      host += c[offset + at.hostDemand]!
    }
    this.#enterMemory(memIndex, traffic)
    for (let i = 0; i < count; i++) {
      const offset = this.offsets[i]!
      this.#launchOthers[i] = launch - c[offset + at.launchDemand]!
      this.#hostOthers[i] = host - c[offset + at.hostDemand]!
    }
    this.#topPrice = this.#solveTopPrice()
    this.#topDemand = 1 - 1 / this.#topPrice
    for (let i = 0; i < count; i++) {
      this.#topMs[i] = this.#batchMs(i, this.offsets[i]!, this.constants.topClockMhz, this.#topPrice, 1)
    }
  }

  /** Evaluate one SM clock, at most the top clock. */
  at(smClockMhz: number): void {
    const c = this.#coefficients
    const { parameters, boostClockMhz, idlePowerW } = this.constants
    let total = 0
    let busySms = 0
    let coreMw = 0
    let memoryMw = 0
    let noneBusy = 1
    let counted = 0
    let lastOffset = -1
    let batchMs = 0
    for (let i = 0; i < this.#count; i++) {
      const offset = this.offsets[i]!
      // Like tenants tend to stand side by side, and share one solution.
      if (offset !== lastOffset) batchMs = this.#contendedBatchMs(i, offset, smClockMhz)
      lastOffset = offset
      const rate = 1e3 / batchMs
      const duty = this.#deviceMs / batchMs
      const throughput = rate * c[offset + at.batchSize]!
      this.latencyMs[i] = batchMs
      this.throughput[i] = throughput
      total += throughput
      busySms += duty * c[offset + at.sms]!
      coreMw += rate * c[offset + at.coreEnergyMj]!
      memoryMw += rate * c[offset + at.memoryEnergyMj]!
      noneBusy *= 1 - duty
      counted += c[offset + at.countedMb]! / batchMs
    }
    const clock = smClockMhz / boostClockMhz
    const voltage = Math.max(parameters.voltageFloor, 1 - parameters.voltageSlope * (1 - clock))
    const square = voltage * voltage
    this.totalThroughput = total
    this.powerW =
      idlePowerW[this.#memIndex]! +
      square * clock * (parameters.clockTreePowerW + parameters.smPowerW * busySms) +
      1e-3 * (square * coreMw + this.#missPart * memoryMw)
    this.smUtilPercent = 100 * (1 - noneBusy)
    this.memUtilPercent = 100 * (1 - Math.exp(-counted * this.#msPerMb))
  }

  /** Caches keep the less away from DRAM, the more all tenants together move per batch. */
  #enterMemory(memIndex: number, trafficMb: number): void {
    this.#memIndex = memIndex
    this.#missPart = trafficMb / (trafficMb + this.constants.parameters.cacheReachMb)
    this.#msPerMb = this.constants.msPerMb[memIndex]! * this.#missPart
  }

  /**
   * Time of a batch, ms, where a memory access takes `price` times as long as without waiting and the others make `pace`
   * times the demand on the host that they make alone at the top clocks. Sets `#deviceMs`.
   */
  #batchMs(i: number, offset: number, smClockMhz: number, price: number, pace: number): number {
    const c = this.#coefficients
    const { launchClients, hostClients } = this.constants.parameters
    const perMhz = 1 / smClockMhz
    const ownMsPerMb = c[offset + at.ownCycles]! * perMhz * this.#missPart
    const msPerMb = price * smoothMax2(ownMsPerMb, this.#msPerMb)
    const deviceMs =
      smoothMax2(c[offset + at.cycles]! * perMhz, c[offset + at.mixedMb]! * msPerMb) +
      c[offset + at.streamMb]! * msPerMb +
      c[offset + at.gapMs]!
    this.#deviceMs = deviceMs
    // A tenant's own demand counts as 1, the most it can be, so that asking for more never slows it down.
    const launchMs = c[offset + at.launchMs]! * smoothMax4(1, (1 + pace * this.#launchOthers[i]!) / launchClients)
    const hostMs = c[offset + at.hostMs]! * smoothMax4(1, (1 + pace * this.#hostOthers[i]!) / hostClients)
    return smoothMax8(deviceMs, launchMs) + hostMs
  }

  /**
   * The price y >= 1 at which demand meets supply at the top clock: y = 1 / (1 - D(y) / ceiling), with D the part of the
   * peak bandwidth that the tenants draw. D falls with y, so there is exactly one solution. Secant steps in a bracket.
   */
  #solveTopPrice(): number {
    const c = this.#coefficients
    const { topClockMhz, parameters } = this.constants
    let low = 1
    let high = 1 + this.#count / parameters.bandwidthCeiling
    let price = 1
    let lastPrice = 0
    let lastExcess = 0
    for (let iteration = 0; iteration < 100; iteration++) {
      let traffic = 0
      let lastOffset = -1
      let batchMs = 0
      for (let i = 0; i < this.#count; i++) {
        const offset = this.offsets[i]!
        if (offset !== lastOffset) batchMs = this.#batchMs(i, offset, topClockMhz, price, 1)
        lastOffset = offset
        traffic += (c[offset + at.mixedMb]! + c[offset + at.streamMb]!) / batchMs
      }
      const demand = (traffic * this.#msPerMb) / parameters.bandwidthCeiling
      const excess = price - price * demand - 1
      if (excess > 0) high = price
      else low = price
      let next =
        iteration === 0 ? 1 + demand / (1 + demand) : price - (excess * (price - lastPrice)) / (excess - lastExcess)
      if (!(next >= low && next <= high)) next = 0.5 * (low + high)
      if (Math.abs(next - price) <= LAST_STEP * price) return next
      lastPrice = price
      lastExcess = excess
      price = next
    }
    return price
  }

  /**
   * Time of a tenant's batch at a clock below the top one, where all neighbours are taken to slow down in the same
   * proportion as the tenant itself: t = T(price(pace), pace) with pace = t(top) / t. For like tenants that is exact. For
   * unlike ones it keeps every tenant's throughput rising with the clock, which the joint equilibrium does not (there a
   * tenant that waits for memory loses when its neighbours are clocked up).
   */
  #contendedBatchMs(i: number, offset: number, smClockMhz: number): number {
    const topMs = this.#topMs[i]!
    let low = topMs
    let high = this.#batchMs(i, offset, smClockMhz, this.#topPrice, 1)
    if (high <= topMs) return high
    let batchMs = high
    let lastMs = 0
    let lastExcess = 0
    for (let iteration = 0; iteration < 100; iteration++) {
      const pace = topMs / batchMs
      const result = this.#batchMs(i, offset, smClockMhz, 1 / (1 - this.#topDemand * pace), pace)
      const excess = batchMs - result
      if (excess > 0) high = batchMs
      else low = batchMs
      let next = iteration === 0 ? result : batchMs - (excess * (batchMs - lastMs)) / (excess - lastExcess)
      if (!(next >= low && next <= high)) next = 0.5 * (low + high)
      if (Math.abs(next - batchMs) <= LAST_STEP * batchMs) return next
      lastMs = batchMs
      lastExcess = excess
      batchMs = next
    }
    return batchMs
  }
}
