import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import { batchTime, deviceTime, pointLayout, termLayout, timeLayout } from './batch-time.js'
import type { BoardConstants } from './board-constants.js'
import { TENANT_NODES } from './correction-grid.js'
import { CORRECTIONS, tenantNode, tenantNodePart } from './corrections.js'
import { relativeVoltage } from './relative-voltage.js'
import { RootSearch } from './root-search.js'
import { smoothMax2 } from './smooth-max.js'
import { tenantLayout as at } from './tenant-coefficients.js'

const term = termLayout
const point = pointLayout
const time = timeLayout

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

/** What of all tenants together, the one in question included, decides how fast one of them is. */
export interface Surroundings {
  readonly tenants: number
  /** Memory traffic of a batch of each, MB. */
  readonly trafficMb: number
  /** Parts of the time in which they launch and use the host if each were alone at the top clocks, summed. */
  readonly launch: number
  readonly host: number
  /** Factor by which an access to DRAM takes longer at the top clock, >= 1. */
  readonly price: number
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
  /** Sum of the factors on the device's speed of all tenants. */
  #speeds = 0
  /** Memory traffic of a run's tenants per batch, MB. */
  readonly #topMb = new Float64Array(MAX_MPS_CLIENTS)
  /** Batch times at the top clock, ms. */
  readonly #topMs = new Float64Array(MAX_MPS_CLIENTS)
  /** The device's part of them. */
  readonly #topDeviceMs = new Float64Array(MAX_MPS_CLIENTS)
  /** What `batchTime` is asked, and what it answers. */
  readonly #point = new Float64Array(point.length)
  readonly #time = new Float64Array(time.length)
  /** Of each run's pace; the first one is also that of the price at the top clock. */
  readonly #searches = Array.from({ length: MAX_MPS_CLIENTS }, () => new RootSearch())
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
    this.#enterClock(0, this.constants.topClockMhz)
    this.#enterTopPoint(1)
    batchTime(this.#terms, 0, this.#point, this.#time)
    const batchMs = this.#time[time.batchMs]!
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
    this.#speeds = 0
    this.#enterMemory(memIndex, traffic)
    for (let r = 0; r < runs; r++) {
      const offset = this.#runOffset[r]!
      this.#enterRun(r, offset, launch - c[offset + at.launchDemand]!, host - c[offset + at.hostDemand]!)
    }
    this.#topPrice = this.#solveTopPrice(mbPerMs)
    this.#enterTop()
  }

  /** A run among neighbours that launch so much and ask so much of the host. */
  #enterRun(run: number, offset: number, launchOthers: number, hostOthers: number): void {
    const c = this.#kinds.coefficients
    const count = this.#count
    const device = this.#correctionsOf(offset, this.#memIndex)
    const deviceSpeed = this.#factorAt(device, count)
    const hostSpeed = this.#factorAt(device + TENANT_NODES, count)
    this.#watts[run] = this.#factorAt(device + 2 * TENANT_NODES, count)
    this.#speeds += this.#runLength[run]! * deviceSpeed
    this.#enterTerms(run, offset, deviceSpeed, hostSpeed, launchOthers, hostOthers)
    this.#enterClock(run, this.constants.topClockMhz)
    this.#topMb[run] = this.#runLength[run]! * (c[offset + at.mixedMb]! + c[offset + at.streamMb]!)
  }

  /** Where a kind's corrections at a memory clock begin. */
  #correctionsOf(offset: number, memIndex: number): number {
    return ((offset / at.stride) * this.constants.memClocksMhz.length + memIndex) * CORRECTIONS * TENANT_NODES
  }

  /** A factor among so many tenants, between its values at two nodes. */
  #factorAt(first: number, count: number): number {
    const { corrections } = this.#kinds
    const node = first + tenantNode[count]!
    return corrections[node]! + tenantNodePart[count]! * (corrections[node + 1]! - corrections[node]!)
  }

  /** What each run's batch takes at the top clock and its price. */
  #enterTop(): void {
    this.#topDemand = 1 - 1 / this.#topPrice
    this.#enterTopPoint(this.#topPrice)
    for (let r = 0; r < this.#runs; r++) {
      batchTime(this.#terms, r * term.stride, this.#point, this.#time)
      this.#topMs[r] = this.#time[time.batchMs]!
      this.#topDeviceMs[r] = deviceTime(this.#terms, r * term.stride, this.#topPrice)
      this.#terms[r * term.stride + term.topUnqueuedMs] = this.#time[time.unqueuedMs]!
    }
  }

  /**
   * Take up one tenant among neighbours of whom only totals are known, instead of tenants that are; `at` then tells its throughput and
   * its latency (power and utilisations are of no mix). Both fall and rise with every total and with the price.
   *
   * @param offset of the tenant's coefficients
   */
  beginAmid(offset: number, memIndex: number, { tenants, trafficMb, launch, host, price }: Surroundings): void {
    const c = this.#kinds.coefficients
    this.#runs = 1
    this.#count = tenants
    this.#runOffset[0] = offset
    this.#runLength[0] = 1
    this.#enterMemory(memIndex, trafficMb)
    const launchOthers = Math.max(0, launch - c[offset + at.launchDemand]!)
    const hostOthers = Math.max(0, host - c[offset + at.hostDemand]!)
    this.#enterRun(0, offset, launchOthers, hostOthers)
    this.#topPrice = price
    this.#enterTop()
  }

  /** The largest factor on the device's speed of a kind among so many tenants, over all memory clocks. */
  mostDeviceSpeed(offset: number, tenants: number): number {
    let most = 0
    for (let m = 0; m < this.constants.memClocksMhz.length; m++) {
      most = Math.max(most, this.#factorAt(this.#correctionsOf(offset, m), tenants))
    }
    return most
  }

  /** Of the tenant of `beginAmid`: time that a batch takes of what DRAM can deliver, if so much of its traffic passes the caches, ms. */
  drawnMs(missPart: number): number {
    const { msPerMb, parameters } = this.constants
    return (this.#topMb[0]! * msPerMb[this.#memIndex]! * missPart) / parameters.bandwidthCeiling
  }

  /** Of the tenant of `beginAmid`: time of a batch at the top clock, ms. */
  get topBatchMs(): number {
    return this.#topMs[0]!
  }

  /**
   * Of the tenant of `beginAmid`: what of the host's capacity a batch uses up at least, ms, such that mixes of at least such totals
   * and price use no more than all of it. With x = host time / unqueued time and d the same of the batch time alone, the capacity lets a
   * tenant have at most x / (x + others' d) of itself, which is at most max(1, x / d) times its part of all d.
   */
  leastHostMs(): number {
    const c = this.#kinds.coefficients
    const kind = this.#runOffset[0]!
    const demand = c[kind + at.hostDemand]!
    if (demand === 0) return 0
    const busier = c[kind + at.hostMs]! / (this.#terms[term.topUnqueuedMs]! * demand)
    return this.#terms[term.hostShareMs]! / Math.max(1, busier)
  }

  /** Of the tenant of `beginAmid`: watts that it adds at a clock however slow it is. */
  standingW(smClockMhz: number): number {
    const { parameters, boostClockMhz } = this.constants
    const clock = smClockMhz / boostClockMhz
    const voltage = relativeVoltage(parameters, clock)
    return (this.#watts[0]! * voltage * voltage * clock * parameters.clockTreePowerW) / this.#count
  }

  /**
   * Of the tenant of `beginAmid`: the least energy that a batch takes beside `standingW` at a clock or above, mJ, where nobody waits less for DRAM than
   * at the price. A batch slows down at most in proportion to the clock, so that the price at a clock is at least that of so slow neighbours.
   */
  leastBatchEnergyMj(smClockMhz: number): number {
    const c = this.#kinds.coefficients
    const { parameters, boostClockMhz, topClockMhz } = this.constants
    const clock = smClockMhz / boostClockMhz
    const voltage = relativeVoltage(parameters, clock)
    const square = voltage * voltage
    const pace = Math.min(1, smClockMhz / topClockMhz)
    this.#enterClock(0, smClockMhz)
    const deviceMs = deviceTime(this.#terms, 0, 1 / (1 - this.#topDemand * pace * pace))
    const kind = this.#runOffset[0]!
    const smMj = square * clock * parameters.smPowerW * c[kind + at.sms]! * deviceMs
    const mj = square * c[kind + at.coreEnergyMj]! + this.#missPart * c[kind + at.memoryEnergyMj]!
    return this.#watts[0]! * (smMj + mj)
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
    to[offset + term.launchOwn] = 1 / launchClients
    to[offset + term.topUnqueuedMs] = 0
  }

  /** The terms of a run that the clock decides. */
  #enterClock(run: number, smClockMhz: number): void {
    const perMhz = 1 / smClockMhz
    const terms = this.#terms
    const offset = run * term.stride
    const msPerMb = smoothMax2(terms[offset + term.ownCycles]! * perMhz, this.#msPerMb)
    terms[offset + term.cyclesMs] = terms[offset + term.cycles]! * perMhz
    terms[offset + term.mixedMs] = terms[offset + term.mixedMb]! * msPerMb
    terms[offset + term.streamMs] = terms[offset + term.streamMb]! * msPerMb
  }

  /** The top clock at a price, which is also what derivatives are taken by. */
  #enterTopPoint(price: number): void {
    const to = this.#point
    to[point.price] = price
    to[point.priceSlope] = 1
    to[point.priceBend] = 0
    to[point.pace] = 1
    to[point.paceSlope] = 0
  }

  /** All neighbours at a pace, which is also what derivatives are taken by, and the price that this makes. */
  #enterPace(pace: number): void {
    const to = this.#point
    const demand = this.#topDemand
    const price = 1 / (1 - demand * pace * pace)
    const slope = 2 * demand * pace * price * price
    to[point.price] = price
    to[point.priceSlope] = slope
    to[point.priceBend] = 2 * demand * price * (price + 2 * pace * slope)
    to[point.pace] = pace
    to[point.paceSlope] = 1
  }

  /** Run by run side by side, because a processor works on several searches at once where none waits for another. */
  #solvePaces(smClockMhz: number): void {
    for (let r = 0; r < this.#runs; r++) {
      this.#enterClock(r, smClockMhz)
      this.#searches[r]!.begin(this.#guessPace(r, smClockMhz), 0, 1)
    }
    for (let open = true; open; ) {
      open = false
      for (let r = 0; r < this.#runs; r++) {
        const search = this.#searches[r]!
        if (search.done) continue
        const pace = search.x
        this.#enterPace(pace)
        batchTime(this.#terms, r * term.stride, this.#point, this.#time)
        const batchMs = this.#time[time.batchMs]!
        const slope = this.#time[time.slope]!
        search.value = pace * batchMs - this.#topMs[r]!
        search.slope = batchMs + pace * slope
        search.bend = 2 * slope + pace * this.#time[time.bend]!
        // At the top clock itself the time there is just right.
        if (pace === 1 && search.value <= 0) search.done = true
        else search.step()
        open ||= !search.done
      }
    }
  }

  /** Near the pace at a clock: of what the device takes longer, a batch is taken to feel the device's part of its time. */
  #guessPace(run: number, smClockMhz: number): number {
    if (smClockMhz >= this.constants.topClockMhz) return 1
    const topMs = this.#topMs[run]!
    const topDeviceMs = this.#topDeviceMs[run]!
    const deviceMs = deviceTime(this.#terms, run * term.stride, this.#topPrice)
    return topMs / (topMs + ((deviceMs - topDeviceMs) * topDeviceMs) / topMs)
  }

  /**
   * The price y >= 1 at which demand meets supply at the top clock: y = 1 / (1 - (D(y) / ceiling)^2), with D the part of the
   * peak bandwidth that the tenants draw. D falls with y, so there is exactly one solution, searched from near where it
   * would be if D fell as 1 / sqrt(y) from what the tenants draw alone.
   *
   * @param mbPerMs memory traffic of the tenants, each as if alone
   */
  #solveTopPrice(mbPerMs: number): number {
    const ceiling = this.constants.parameters.bandwidthCeiling
    const scale = this.#msPerMb / ceiling
    const alone = mbPerMs * scale
    const search = this.#searches[0]!
    // A tenant draws at most its speed / (ceiling price), so that y <= 1 + speeds / ceiling.
    const highest = 1 + Math.max(MAX_MPS_CLIENTS, this.#speeds) / ceiling
    search.begin(Math.min(1 + alone * alone, highest), 1, highest)
    while (!search.done) {
      const price = search.x
      this.#enterTopPoint(price)
      let demand = 0
      let slope = 0
      let bend = 0
      for (let r = 0; r < this.#runs; r++) {
        batchTime(this.#terms, r * term.stride, this.#point, this.#time)
        const perBatch = 1 / this.#time[time.batchMs]!
        const drawn = this.#topMb[r]! * perBatch * scale
        const longer = this.#time[time.slope]! * perBatch
        demand += drawn
        slope -= drawn * longer
        bend += drawn * (2 * longer * longer - this.#time[time.bend]! * perBatch)
      }
      const square = demand * demand
      const squareSlope = 2 * demand * slope
      const squareBend = 2 * (slope * slope + demand * bend)
      search.value = price - price * square - 1
      search.slope = 1 - square - price * squareSlope
      search.bend = -2 * squareSlope - price * squareBend
      search.step()
    }
    return search.x
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
    this.#solvePaces(smClockMhz)
    const { parameters, boostClockMhz, idlePowerW } = this.constants
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
      const pace = this.#searches[r]!.x
      const batchMs = this.#topMs[r]! / pace
      const deviceMs = deviceTime(this.#terms, r * term.stride, 1 / (1 - this.#topDemand * pace * pace))
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
