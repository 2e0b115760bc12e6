import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import type { BoardConstants } from './board-constants.js'
import { TENANT_NODES, tenantNode, tenantNodePart } from './corrections.js'
import { smoothMax2, smoothMax4, smoothMax8 } from './smooth-max.js'
import { tenantLayout as at } from './tenant-coefficients.js'

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
   * Factors on the speed and on the dynamic power: for kind k and memory clock m they begin at
   * `(k * memory clocks + m) * 2 * TENANT_NODES`, those on the speed first.
   */
  readonly corrections: Float64Array
}

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
  readonly #kinds: KindArrays
  /** Factors on the speed and on the dynamic power of each run, at the number of tenants at hand. */
  readonly #speed = new Float64Array(MAX_MPS_CLIENTS)
  readonly #watts = new Float64Array(MAX_MPS_CLIENTS)
  #count = 0
  /** Like tenants that stand side by side are one run, and share one solution. */
  #runs = 0
  readonly #runOffset = new Int32Array(MAX_MPS_CLIENTS)
  readonly #runLength = new Int32Array(MAX_MPS_CLIENTS)
  /** Demands of the other tenants, each as if alone at the top clocks. */
  readonly #launchOthers = new Float64Array(MAX_MPS_CLIENTS)
  readonly #hostOthers = new Float64Array(MAX_MPS_CLIENTS)
  /** Terms of the batch times at the top clock, ms. */
  readonly #topCycles = new Float64Array(MAX_MPS_CLIENTS)
  readonly #topMixed = new Float64Array(MAX_MPS_CLIENTS)
  readonly #topStream = new Float64Array(MAX_MPS_CLIENTS)
  readonly #topGap = new Float64Array(MAX_MPS_CLIENTS)
  /** Memory traffic of a run's tenants per batch, corrected for their speed, MB. */
  readonly #topMb = new Float64Array(MAX_MPS_CLIENTS)
  readonly #topLaunch = new Float64Array(MAX_MPS_CLIENTS)
  readonly #topHost = new Float64Array(MAX_MPS_CLIENTS)
  /** Batch times at the top clock, ms. */
  readonly #topMs = new Float64Array(MAX_MPS_CLIENTS)
  #memIndex = 0
  /** Part of the memory traffic that caches do not keep away from DRAM. */
  #missPart = 1
  /** Time per MB of memory traffic at peak bandwidth, ms. */
  #msPerMb = 0
  /** How many times longer an access takes than without waiting, at the top clock. */
  #topPrice = 1
  /** DRAM demand at the top clock in parts of the ceiling, 0..1. */
  #topDemand = 0

  constructor(constants: BoardConstants, kinds: KindArrays) {
    this.constants = constants
    this.#kinds = kinds
  }

  /** Complete the coefficients of one kind of tenant: what it asks of the host when it is alone at the top clocks. */
  writeDemands(offset: number): void {
    const c = this.#kinds.coefficients
    const { topClockMhz, parameters } = this.constants
    this.#enterMemory(0, c[offset + at.mixedMb]! + c[offset + at.streamMb]!)
    const perMhz = 1 / topClockMhz
    const msPerMb = smoothMax2(c[offset + at.ownCycles]! * perMhz * this.#missPart, this.#msPerMb)
    const deviceMs =
      smoothMax2(c[offset + at.cycles]! * perMhz, c[offset + at.mixedMb]! * msPerMb) +
      c[offset + at.streamMb]! * msPerMb +
      c[offset + at.gapMs]!
    const launchMs = c[offset + at.launchMs]! * smoothMax4(1, 1 / parameters.launchClients)
    const hostMs = c[offset + at.hostMs]! * smoothMax4(1, 1 / parameters.hostClients)
    const batchMs = smoothMax8(deviceMs, launchMs) + hostMs
    c[offset + at.launchDemand] = c[offset + at.launchMs]! / batchMs
    c[offset + at.hostDemand] = c[offset + at.hostMs]! / batchMs
    c[offset + at.mbPerMs] = (c[offset + at.mixedMb]! + c[offset + at.streamMb]!) / batchMs
  }

  /** Take up the first `count` tenants of `offsets` and work out what they cost each other at the top clock. */
  begin(count: number, memIndex: number): void {
    const c = this.#kinds.coefficients
    const { topClockMhz, parameters } = this.constants
    const { launchClients, hostClients } = parameters
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
    const perMhz = 1 / topClockMhz
    for (let r = 0; r < runs; r++) {
      const offset = this.#runOffset[r]!
      const launchOthers = launch - c[offset + at.launchDemand]!
      const hostOthers = host - c[offset + at.hostDemand]!
      const msPerMb = smoothMax2(c[offset + at.ownCycles]! * perMhz * this.#missPart, this.#msPerMb)
      const factor = ((offset / at.stride) * memClocks + memIndex) * 2 * TENANT_NODES + node
      this.#speed[r] = corrections[factor]! + part * (corrections[factor + 1]! - corrections[factor]!)
      const power = factor + TENANT_NODES
      this.#watts[r] = corrections[power]! + part * (corrections[power + 1]! - corrections[power]!)
      this.#launchOthers[r] = launchOthers
      this.#hostOthers[r] = hostOthers
      this.#topCycles[r] = c[offset + at.cycles]! * perMhz
      this.#topMixed[r] = c[offset + at.mixedMb]! * msPerMb
      this.#topStream[r] = c[offset + at.streamMb]! * msPerMb
      this.#topGap[r] = c[offset + at.gapMs]!
      this.#topMb[r] = this.#runLength[r]! * this.#speed[r]! * (c[offset + at.mixedMb]! + c[offset + at.streamMb]!)
      // A tenant's own demand counts as 1, the most it can be, so that asking for more never slows it down.
      this.#topLaunch[r] = c[offset + at.launchMs]! * smoothMax4(1, (1 + launchOthers) / launchClients)
      this.#topHost[r] = c[offset + at.hostMs]! * smoothMax4(1, (1 + hostOthers) / hostClients)
    }
    this.#topPrice = this.#solveTopPrice(mbPerMs)
    this.#topDemand = 1 - 1 / this.#topPrice
    for (let r = 0; r < runs; r++) {
      const deviceMs =
        smoothMax2(this.#topCycles[r]!, this.#topMixed[r]! * this.#topPrice) +
        this.#topStream[r]! * this.#topPrice +
        this.#topGap[r]!
      this.#topMs[r] = smoothMax8(deviceMs, this.#topLaunch[r]!) + this.#topHost[r]!
    }
  }

  /**
   * The price y >= 1 at which demand meets supply at the top clock: y = 1 / (1 - D(y) / ceiling), with D the part of the
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
        const mixed = this.#topMixed[r]! * price
        const overlapped = smoothMax2(this.#topCycles[r]!, mixed)
        const deviceMs = overlapped + this.#topStream[r]! * price + this.#topGap[r]!
        // The smooth maximum written out, since its derivative needs the sum under the roots.
        const launchMs = this.#topLaunch[r]!
        const device3 = deviceMs * deviceMs * deviceMs
        const device7 = device3 * device3 * deviceMs
        const launch2 = launchMs * launchMs
        const launch4 = launch2 * launch2
        const sum = device7 * deviceMs + launch4 * launch4
        const longer = Math.sqrt(Math.sqrt(Math.sqrt(sum)))
        const batchMs = longer + this.#topHost[r]!
        const perBatch = 1 / batchMs
        const perPrice =
          (device7 * longer * (this.#topMixed[r]! * mixed + this.#topStream[r]! * overlapped)) / (sum * overlapped)
        const drawn = this.#topMb[r]! * perBatch
        demand += drawn
        slope -= drawn * perPrice * perBatch
      }
      demand *= scale
      slope *= scale
      const excess = price - price * demand - 1
      if (excess > 0) high = price
      else low = price
      const inverse = 1 / (1 - demand - price * slope)
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
    const { parameters, boostClockMhz, idlePowerW } = this.constants
    const perLaunchClient = 1 / parameters.launchClients
    const perHostClient = 1 / parameters.hostClients
    const perMhz = 1 / smClockMhz
    const topDemand = this.#topDemand
    const clock = smClockMhz / boostClockMhz
    const voltage = Math.max(parameters.voltageFloor, 1 - parameters.voltageSlope * (1 - clock))
    const square = voltage * voltage
    const treeW = (square * clock * parameters.clockTreePowerW) / this.#count
    const smW = square * clock * parameters.smPowerW
    let total = 0
    let dynamicW = 0
    let noneBusy = 1
    let counted = 0
    let i = 0
    for (let r = 0; r < this.#runs; r++) {
      const offset = this.#runOffset[r]!
      const launchMs = c[offset + at.launchMs]!
      const hostMs = c[offset + at.hostMs]!
      const gapMs = c[offset + at.gapMs]!
      const launchOthers = this.#launchOthers[r]! * perLaunchClient
      const hostOthers = this.#hostOthers[r]! * perHostClient
      const cycles = c[offset + at.cycles]! * perMhz
      const msPerMb = smoothMax2(c[offset + at.ownCycles]! * perMhz * this.#missPart, this.#msPerMb)
      const mixed = c[offset + at.mixedMb]! * msPerMb
      const stream = c[offset + at.streamMb]! * msPerMb
      const topMs = this.#topMs[r]!
      const launch2 = launchMs * launchMs
      const launch4 = launch2 * launch2
      const launch8 = launch4 * launch4

      // The time at the top clock's price is too long, or just right at the top clock itself.
      const pricedMs = smoothMax2(cycles, mixed * this.#topPrice) + stream * this.#topPrice + gapMs
      let deviceMs = pricedMs
      const pricedBatchMs = smoothMax8(deviceMs, this.#topLaunch[r]!) + this.#topHost[r]!
      let batchMs = pricedBatchMs
      if (batchMs > topMs) {
        let low = topMs
        let high = batchMs
        let lastMs = 0
        let lastExcess = 0
        let lastInverse = 0
        for (let step = 0; step < MAX_STEPS; step++) {
          const pace = topMs / batchMs
          const price = 1 / (1 - topDemand * pace)
          const priced = mixed * price
          const overlapped = smoothMax2(cycles, priced)
          deviceMs = overlapped + stream * price + gapMs
          // The smooth maxima written out, since their derivatives need the sums under the roots; the eighth power of the
          // launch time, itself a fourth root, needs no root.
          const launchLoad = perLaunchClient + pace * launchOthers
          const launchCube = launchLoad * launchLoad * launchLoad
          const launchSum = 1 + launchCube * launchLoad
          const hostLoad = perHostClient + pace * hostOthers
          const hostCube = hostLoad * hostLoad * hostLoad
          const hostSum = 1 + hostCube * hostLoad
          const loadedHostMs = hostMs * Math.sqrt(Math.sqrt(hostSum))
          const device3 = deviceMs * deviceMs * deviceMs
          const device7 = device3 * device3 * deviceMs
          const sum = device7 * deviceMs + launch8 * launchSum * launchSum
          const longer = Math.sqrt(Math.sqrt(Math.sqrt(sum)))
          const excess = batchMs - longer - loadedHostMs
          if (excess > 0) high = batchMs
          else low = batchMs
          const devicePerPace = (mixed * priced + stream * overlapped) * topDemand * price * price
          const launchPerPace = launch8 * launchSum * launchCube * launchOthers
          const perPace =
            ((device7 * devicePerPace + launchPerPace * overlapped) * longer) / (sum * overlapped) +
            (loadedHostMs * hostCube * hostOthers) / hostSum
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

      if (batchMs < pricedBatchMs) {
        const price = 1 / (1 - (topDemand * topMs) / batchMs)
        deviceMs = smoothMax2(cycles, mixed * price) + stream * price + gapMs
      }
      const length = this.#runLength[r]!
      const duty = Math.min(1, deviceMs / batchMs)
      // However the correction stands, no batch ends before it was launched.
      batchMs = Math.max(batchMs / this.#speed[r]!, launchMs + hostMs)
      const rate = 1e3 / batchMs
      const throughput = rate * c[offset + at.batchSize]!
      const idle = 1 - duty
      for (let k = 0; k < length; k++) {
        this.latencyMs[i] = batchMs
        this.throughput[i++] = throughput
        noneBusy *= idle
      }
      total += length * throughput
      const mw = rate * (square * c[offset + at.coreEnergyMj]! + this.#missPart * c[offset + at.memoryEnergyMj]!)
      dynamicW += length * this.#watts[r]! * (treeW + smW * duty * c[offset + at.sms]! + 1e-3 * mw)
      counted += (length * c[offset + at.countedMb]!) / batchMs
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
