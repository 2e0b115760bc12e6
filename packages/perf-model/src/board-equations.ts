import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import { batchTime, deviceTime, termLayout, timeLayout } from './batch-time.js'
import type { BoardConstants } from './board-constants.js'
import { TENANT_NODES } from './correction-grid.js'
import { CORRECTIONS, tenantNode, tenantNodePart } from './corrections.js'
import { relativeVoltage } from './relative-voltage.js'
import { smoothMax2 } from './smooth-max.js'
import { tenantLayout as at } from './tenant-coefficients.js'

const term = termLayout

/** Relative step below which a fixed point counts as found after one step of Newton's, which squares the error. */
const LAST_STEP = 2e-6
/**
 * From the second step on the inverse function's cubic through the last two points and slopes is used, whose error is of
 * the order of (step x step before)^2. With this product of the two, less than 1e-10 remains.
 */
const LAST_STEPS = 1e-6
const MAX_STEPS = 60

/** The numbers of all kinds of tenants at hand, which may move to larger arrays between two evaluations. */
export interface KindArrays {
  /** `tenantLayout.stride` numbers for each kind. */
  readonly coefficients: Float64Array
  /**
   * Factors on the device's speed, on the host's and on the dynamic power: for kind k and memory clock m they begin at
   * `(k * memory clocks + m) * CORRECTIONS * TENANT_NODES`, in this order.
   */
  readonly corrections: Float64Array
}

/**
 * The model's equations for a set of tenants on one board, over plain arrays and without allocation. Put the tenants'
 * coefficients into `offsets`, call `begin`, then `at` for one SM clock after another; results stay in the fields until
 * the next call. The README derives the equations and says why throughput is monotone.
 */
export class BoardEquations {
  /** Offsets of the tenants' coefficients; `begin` says how many are in use. */
  readonly offsets: Int32Array = new Int32Array(MAX_MPS_CLIENTS)
  /** Samples/s by tenant. */
  readonly throughput: Float64Array = new Float64Array(MAX_MPS_CLIENTS)
  /** Time of a batch from start to end by tenant, ms. */
  readonly latencyMs: Float64Array = new Float64Array(MAX_MPS_CLIENTS)
  totalThroughput = 0
  powerW = 0
  smUtilPercent = 0
  memUtilPercent = 0

  constants: BoardConstants
  readonly #kinds: KindArrays
  #count = 0
  /** Like tenants that stand side by side are one run, and share one solution. */
  #runs = 0
  readonly #runOffset = new Int32Array(MAX_MPS_CLIENTS)
  readonly #runLength = new Int32Array(MAX_MPS_CLIENTS)
  /** Terms of each run's batch time, as `termLayout` lays them out. */
  readonly #terms = new Float64Array(MAX_MPS_CLIENTS * term.stride)
  /** Factor on the dynamic power of each run, at the number of tenants at hand. */
  readonly #watts = new Float64Array(MAX_MPS_CLIENTS)
  /** Terms of the batch times at the top clock, ms. */
  readonly #topCycles = new Float64Array(MAX_MPS_CLIENTS)
  readonly #topMixed = new Float64Array(MAX_MPS_CLIENTS)
  readonly #topStream = new Float64Array(MAX_MPS_CLIENTS)
  /** Memory traffic of a run's tenants per batch, MB. */
  readonly #topMb = new Float64Array(MAX_MPS_CLIENTS)
  /** Batch times at the top clock, ms. */
  readonly #topMs = new Float64Array(MAX_MPS_CLIENTS)
  /** The same on a host whose capacity had no end. */
  readonly #topUnqueuedMs = new Float64Array(MAX_MPS_CLIENTS)
  /** What `batchTime` answers. */
  readonly #time = new Float64Array(timeLayout.length)
  #memIndex = 0
  /** Part of the memory traffic that caches do not keep away from DRAM. */
  #missPart = 1
  /** Time per MB of memory traffic at peak bandwidth, ms. */
  #msPerMb = 0
  /** How many times longer an access takes than without waiting, at the top clock. */
  #topPrice = 1
  /** Square of the DRAM demand at the top clock in parts of the ceiling, 0..1. */
  #topDemand = 0

  constructor(constants: BoardConstants, kinds: KindArrays) {
    this.constants = constants
    this.#kinds = kinds
  }

  /** Complete the coefficients of one kind of tenant: what it asks of the host when it is alone at the top clocks. */
  writeDemands(offset: number): void {
    const c = this.#kinds.coefficients
    const megabytes = c[offset + at.mixedMb]! + c[offset + at.streamMb]!
    this.#enterMemory(0, megabytes)
    this.#enterTerms(0, offset, 1, 1, 0, 0)
    this.#enterTopClock(0)
    this.#timeAtTop(0, 1)
    const batchMs = this.#time[timeLayout.batchMs]!
    c[offset + at.launchDemand] = c[offset + at.launchMs]! / batchMs
    c[offset + at.hostDemand] = c[offset + at.hostMs]! / batchMs
    c[offset + at.mbPerMs] = megabytes / batchMs
  }

  /** Take up the first `count` tenants of `offsets` and work out what they cost each other at the top clock. */
  begin(count: number, memIndex: number): void {
    const c = this.#kinds.coefficients
    let traffic = 0
    let launch = 0
    let host = 0
    let mbPerMs = 0
    let runs = 0
    for (let i = 0; i < count; i++) {
      const offset = this.offsets[i]!
      traffic += c[offset + at.mixedMb]! + c[offset + at.streamMb]!
      launch += c[offset + at.launchDemand]!
      host += c[offset + at.hostDemand]!
      mbPerMs += c[offset + at.mbPerMs]!
      if (i > 0 && offset === this.#runOffset[runs - 1]!) this.#runLength[runs - 1]!++
      else {
        this.#runOffset[runs] = offset
        this.#runLength[runs++] = 1
      }
    }
    this.#runs = runs
    this.#count = count
    this.#enterMemory(memIndex, traffic)
    const memClocks = this.constants.memClocksMhz.length
    const node = tenantNode[count]!
    const part = tenantNodePart[count]!
    const { corrections } = this.#kinds
    for (let r = 0; r < runs; r++) {
      const offset = this.#runOffset[r]!
      const device = ((offset / at.stride) * memClocks + memIndex) * CORRECTIONS * TENANT_NODES + node
      const served = device + TENANT_NODES
      const power = served + TENANT_NODES
      const deviceSpeed = corrections[device]! + part * (corrections[device + 1]! - corrections[device]!)
      const hostSpeed = corrections[served]! + part * (corrections[served + 1]! - corrections[served]!)
      this.#watts[r] = corrections[power]! + part * (corrections[power + 1]! - corrections[power]!)
      const launchOthers = launch - c[offset + at.launchDemand]!
      const hostOthers = host - c[offset + at.hostDemand]!
      this.#enterTerms(r, offset, deviceSpeed, hostSpeed, launchOthers, hostOthers)
      this.#enterTopClock(r)
      this.#topMb[r] = this.#runLength[r]! * (c[offset + at.mixedMb]! + c[offset + at.streamMb]!)
    }
    this.#topPrice = this.#solveTopPrice(mbPerMs)
    this.#topDemand = 1 - 1 / this.#topPrice
    for (let r = 0; r < runs; r++) {
      this.#timeAtTop(r, this.#topPrice)
      this.#topMs[r] = this.#time[timeLayout.batchMs]!
      this.#topUnqueuedMs[r] = this.#time[timeLayout.unqueuedMs]!
    }
  }

  /** A run's terms: its kind's coefficients, each stage over the factor on its speed, and its neighbours' demands. */
  #enterTerms(
    run: number,
    kind: number,
    deviceSpeed: number,
    hostSpeed: number,
    launchOthers: number,
    hostOthers: number,
  ): void {
    const c = this.#kinds.coefficients
    const { launchClients, hostClients } = this.constants.parameters
    const to = this.#terms
    const offset = run * term.stride
    const slower = 1 / deviceSpeed
    const served = 1 / hostSpeed
    to[offset + term.cycles] = c[kind + at.cycles]! * slower
    to[offset + term.mixedMb] = c[kind + at.mixedMb]! * slower
    to[offset + term.streamMb] = c[kind + at.streamMb]! * slower
    to[offset + term.ownCycles] = c[kind + at.ownCycles]! * this.#missPart
    to[offset + term.gapMs] = c[kind + at.gapMs]! * slower
    to[offset + term.launchMs] = c[kind + at.launchMs]! * served
    to[offset + term.hostMs] = c[kind + at.hostMs]! * served
    to[offset + term.launchOthers] = launchOthers / launchClients
    to[offset + term.hostOthers] = (hostOthers * served) / hostClients
    to[offset + term.hostShareMs] = (c[kind + at.hostMs]! * served) / hostClients
  }

  #enterTopClock(run: number): void {
    const perMhz = 1 / this.constants.topClockMhz
    const offset = run * term.stride
    const msPerMb = smoothMax2(this.#terms[offset + term.ownCycles]! * perMhz, this.#msPerMb)
    this.#topCycles[run] = this.#terms[offset + term.cycles]! * perMhz
    this.#topMixed[run] = this.#terms[offset + term.mixedMb]! * msPerMb
    this.#topStream[run] = this.#terms[offset + term.streamMb]! * msPerMb
  }

  #timeAtTop(run: number, price: number): void {
    batchTime(
      this.#terms,
      run * term.stride,
      this.#topCycles[run]!,
      this.#topMixed[run]!,
      this.#topStream[run]!,
      price,
      1,
      1 / this.constants.parameters.launchClients,
      0,
      this.#time,
    )
  }

  /**
   * The price y >= 1 at which demand meets supply at the top clock: y = 1 / (1 - (D(y) / ceiling)^2), with D the part of the
   * peak bandwidth that the tenants draw. D falls with y, so there is exactly one solution. Newton's method in a bracket,
   * from where the solution would be if D fell as 1 / (1 + (y - 1) / 5) from what the tenants draw alone.
   *
   * @param mbPerMs memory traffic of the tenants, each as if alone
   */
  #solveTopPrice(mbPerMs: number): number {
    const ceiling = this.constants.parameters.bandwidthCeiling
    const scale = this.#msPerMb / ceiling
    let low = 1
    let high = 1 + MAX_MPS_CLIENTS / ceiling
    const alone = mbPerMs * scale
    let price = 1 + 2.5 * (alone - 1 + Math.sqrt((1 - alone) ** 2 + 0.8 * alone))
    let lastPrice = 0
    let lastExcess = 0
    let lastInverse = 0
    for (let step = 0; step < MAX_STEPS; step++) {
      let demand = 0
      let slope = 0
      for (let r = 0; r < this.#runs; r++) {
        this.#timeAtTop(r, price)
        const perBatch = 1 / this.#time[timeLayout.batchMs]!
        const drawn = this.#topMb[r]! * perBatch
        demand += drawn
        slope -= drawn * this.#time[timeLayout.perPrice]! * perBatch
      }
      demand *= scale
      slope *= scale
      const square = demand * demand
      const excess = price - price * square - 1
      if (excess > 0) high = price
      else low = price
      const inverse = 1 / (1 - square - 2 * price * demand * slope)
      let next = price - excess * inverse
      if (step > 0) next = cubicRoot(lastPrice, lastExcess, lastInverse, price, excess, inverse)
      if (!(next >= low && next <= high)) next = 0.5 * (low + high)
      else if (isLastStep(step, next - price, price - lastPrice, price)) return next
      lastPrice = price
      lastExcess = excess
      lastInverse = inverse
      price = next
    }
    return price
  }

  /**
   * Evaluate one SM clock, at most the top clock.
   *
   * Below the top clock all neighbours of a tenant are taken to slow down in the same proportion as itself:
   * t = T(price(pace), pace) with pace = t(top) / t. For like tenants that is exact. For unlike ones it keeps every tenant's
   * throughput rising with the clock, which the joint equilibrium does not (there a tenant that waits for memory loses when
   * its neighbours are clocked up).
   */
  at(smClockMhz: number): void {
    const c = this.#kinds.coefficients
    const terms = this.#terms
    const time = this.#time
    const { parameters, boostClockMhz, idlePowerW } = this.constants
    const perLaunchClient = 1 / parameters.launchClients
    const perMhz = 1 / smClockMhz
    const topDemand = this.#topDemand
    const topPrice = this.#topPrice
    const clock = smClockMhz / boostClockMhz
    const voltage = relativeVoltage(parameters, clock)
    const square = voltage * voltage
    const treeW = (square * clock * parameters.clockTreePowerW) / this.#count
    const smW = square * clock * parameters.smPowerW
    let total = 0
    let dynamicW = 0
    let noneBusy = 1
    let counted = 0
    let i = 0
    for (let r = 0; r < this.#runs; r++) {
      const offset = r * term.stride
      const gapMs = terms[offset + term.gapMs]!
      const cycles = terms[offset + term.cycles]! * perMhz
      const msPerMb = smoothMax2(terms[offset + term.ownCycles]! * perMhz, this.#msPerMb)
      const mixed = terms[offset + term.mixedMb]! * msPerMb
      const stream = terms[offset + term.streamMb]! * msPerMb
      const topMs = this.#topMs[r]!
      const topUnqueuedMs = this.#topUnqueuedMs[r]!

      // The time at the top clock's price is too long, or just right at the top clock itself.
      batchTime(terms, offset, cycles, mixed, stream, topPrice, 1, perLaunchClient, topUnqueuedMs, time)
      const pricedBatchMs = time[timeLayout.batchMs]!
      let batchMs = pricedBatchMs
      if (batchMs > topMs) {
        let low = topMs
        let high = batchMs
        let lastMs = 0
        let lastExcess = 0
        let lastInverse = 0
        for (let step = 0; step < MAX_STEPS; step++) {
          const pace = topMs / batchMs
          const price = 1 / (1 - topDemand * pace * pace)
          batchTime(terms, offset, cycles, mixed, stream, price, pace, perLaunchClient, topUnqueuedMs, time)
          const excess = batchMs - time[timeLayout.batchMs]!
          if (excess > 0) high = batchMs
          else low = batchMs
          // The price is a function of the pace, and the pace of the time.
          const perPace = time[timeLayout.perPrice]! * 2 * topDemand * pace * price * price + time[timeLayout.perPace]!
          const inverse = batchMs / (batchMs + perPace * pace)
          let next = batchMs - excess * inverse
          let done = false
          if (step > 0) next = cubicRoot(lastMs, lastExcess, lastInverse, batchMs, excess, inverse)
          if (!(next >= low && next <= high)) next = 0.5 * (low + high)
          else done = isLastStep(step, next - batchMs, batchMs - lastMs, batchMs)
          lastMs = batchMs
          lastExcess = excess
          lastInverse = inverse
          batchMs = next
          if (done) break
        }
      }

      const price = batchMs < pricedBatchMs ? 1 / (1 - topDemand * (topMs / batchMs) ** 2) : topPrice
      const deviceMs = deviceTime(cycles, mixed, stream, gapMs, price)
      const kind = this.#runOffset[r]!
      const length = this.#runLength[r]!
      const duty = Math.min(1, deviceMs / batchMs)
      const rate = 1e3 / batchMs
      const throughput = rate * c[kind + at.batchSize]!
      const idle = 1 - duty
      for (let k = 0; k < length; k++) {
        this.latencyMs[i] = batchMs
        this.throughput[i++] = throughput
        noneBusy *= idle
      }
      total += length * throughput
      const mw = rate * (square * c[kind + at.coreEnergyMj]! + this.#missPart * c[kind + at.memoryEnergyMj]!)
      dynamicW += length * this.#watts[r]! * (treeW + smW * duty * c[kind + at.sms]! + 1e-3 * mw)
      counted += (length * c[kind + at.countedMb]!) / batchMs
    }
    this.totalThroughput = total
    this.powerW = idlePowerW[this.#memIndex]! + dynamicW
    this.smUtilPercent = 100 * (1 - noneBusy)
    this.memUtilPercent = 100 * (1 - Math.exp(-counted * this.#msPerMb))
  }

  /** Caches keep the less away from DRAM, the more all tenants together move per batch. */
  #enterMemory(memIndex: number, trafficMb: number): void {
    this.#memIndex = memIndex
    this.#missPart = trafficMb / (trafficMb + this.constants.parameters.cacheReachMb)
    this.#msPerMb = this.constants.msPerMb[memIndex]! * this.#missPart
  }
}

/** Where the cubic through two points (x, f) with slopes 1 / inverse of the inverse function meets f = 0. */
function cubicRoot(x0: number, f0: number, inverse0: number, x1: number, f1: number, inverse1: number): number {
  const per = 1 / (f1 - f0)
  const chord = (x1 - x0) * per
  const bend0 = (chord - inverse0) * per
  const bend1 = (inverse1 - chord) * per
  return x0 - f0 * (inverse0 - f0 * (bend0 - (bend1 - bend0) * per * f1))
}

function isLastStep(step: number, next: number, last: number, size: number): boolean {
  const move = Math.abs(next)
  return move <= LAST_STEP * size || (step > 0 && move * Math.abs(last) <= LAST_STEPS * size * size)
}
