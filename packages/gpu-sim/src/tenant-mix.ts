import { type GpuSpec, memoryBandwidth } from '@pctodl/platform'
import type { WorkPhysics } from './board-physics.js'
import type { FixedPoint, UnitMap } from './fixed-point.js'
import type { HostProfile } from './host-profile.js'
import type { TenantLoad } from './tenant-load.js'

/**
 * The fixed point counts as found if the shares of time change by less than this in an iteration. Rates are then right
 * to about 1e-10.
 */
const TOLERANCE = 1e-12

/** Number of unknowns per kind of tenant, and the index of each. */
const SHARES = 4
const FELT = 0
const LAUNCHING = 1
const PREPARING = 2
const RESIDENT = 3

/** Exponent of the contention law `queue`: the wait for DRAM grows with the third power of its utilization. */
const QUEUE = 3

/**
 * Fraction of the slowdown by co-runners that a tenant avoids if its kernels compute all the time, 0..1. It applies to
 * the `neighbourLaw` `compute`. Fitted to pairs of AlexNet and SSD.
 */
export const SHELTERED = 0.7

/** Tenants that are identical, so that they are solved as one. */
export interface Kind {
  readonly load: TenantLoad
  count: number
  /** Index of the kind's first operator in the arrays of the mix. */
  offset: number
  /** Working sets of all other tenants that compete for L2, bytes. */
  othersBytes: number
  totalDramBytes: number
  /** DRAM bandwidth that the tenant's SMs can request at the present clocks, bytes/s. */
  requestBandwidth: number
  /** Factor by which one tenant's own traffic lengthens its DRAM accesses under the law `queue`, at least 1. */
  aloneInQueue: number
  /** Time of one batch, s. */
  batchS: number
  /** Time of a batch's kernels, s; `workS` is the same time without contention for SMs and bandwidth. */
  deviceS: number
  workS: number
  /**
   * `presence`: how much the kind's resident kernels slow co-runners. `exposure`: how much co-runners slow the kind.
   * Both 0..1, see `neighbourLaw`.
   */
  presence: number
  exposure: number
  /** Time of the batch's DRAM traffic, s. */
  memoryS: number
  /** Time to launch a batch's operators, s. */
  launchS: number
  /** Time to prepare and copy a batch's images, s. */
  imageS: number
}

/**
 * A set of tenants that run together. Everything that does not depend on clocks is computed once, so that many clocks
 * can be evaluated quickly.
 *
 * For each operator, a batch takes the longer of its arithmetic time and its memory traffic time (plus a small penalty
 * for imperfect overlap), and a fixed time per kernel. Meanwhile the host launches the next operators. The slower of
 * device and host sets the pace, and the host time per image is added.
 *
 * Tenants contend for DRAM, L2, overlapping SM shares, and the rates at which all processes together can launch
 * operators and prepare images. Contention depends on how busy the tenants are, which in turn depends on contention.
 * The solution is a fixed point in four shares of time per kind of tenant: contended DRAM traffic, launching,
 * preparing, and being on the device.
 */
export class TenantMix implements UnitMap {
  readonly kinds: readonly Kind[]
  readonly kindOf: readonly Kind[]
  readonly #spec: GpuSpec
  readonly #work: WorkPhysics
  readonly #host: HostProfile
  readonly #timeSliced: boolean
  readonly #fixedPoint: FixedPoint
  /**
   * Bytes that L2 does not serve. For operators with arithmetic: one entry per operator. For the others: suffix sums
   * followed by a 0, because their times simply add up.
   */
  readonly #dramBytes: Float64Array
  /**
   * `#computeSP`: time of an operator's arithmetic at the present clock, raised to the saturation exponent. `#l2S`:
   * time of its L2 traffic, s.
   */
  readonly #computeSP: Float64Array
  readonly #l2S: Float64Array
  readonly #shares: Float64Array
  /** Attainable DRAM bandwidth at the last settled clocks, bytes/s. */
  capacity = 0

  constructor(
    spec: GpuSpec,
    work: WorkPhysics,
    host: HostProfile,
    loads: readonly TenantLoad[],
    fixedPoint: FixedPoint,
    timeSliced: boolean,
  ) {
    this.#spec = spec
    this.#work = work
    this.#host = host
    this.#timeSliced = timeSliced
    this.#fixedPoint = fixedPoint
    const kinds: Kind[] = []
    let operators = 0
    this.kindOf = loads.map((load) => {
      let kind = kinds.find((candidate) => candidate.load === load)
      if (!kind) {
        kind = newKind(load, operators)
        operators += load.work.size + 1
        kinds.push(kind)
      }
      kind.count++
      return kind
    })
    this.kinds = kinds
    this.#dramBytes = new Float64Array(operators)
    this.#computeSP = new Float64Array(operators)
    this.#l2S = new Float64Array(operators)
    this.#shares = new Float64Array(SHARES * kinds.length)
    this.#missL2()
  }

  /** Updates the times of all kinds to these clocks. */
  settle(smClockMhz: number, memClockMhz: number): void {
    this.capacity = this.#work.dramEfficiency * memoryBandwidth(this.#spec, memClockMhz)
    this.#adoptClock(smClockMhz)
    const shares = this.#shares.fill(1)
    this.#fixedPoint.solve(this, shares, TOLERANCE)
  }

  /** One iteration of the fixed point: from shares of time to batch times, and back to shares of time. */
  map(shares: Float64Array, image: Float64Array): void {
    if (this.#timeSliced) this.#takeTurns(shares)
    else this.#runTogether(shares)
    this.#finishBatches(shares, image)
  }

  /** Computes the bytes that L2 does not serve. All tenants share L2, so they depend on the working sets of all. */
  #missL2(): void {
    const { l2HitShare, l2CapacityFactor } = this.#work
    const size = l2CapacityFactor * this.#spec.l2Bytes
    let everybody = 0
    let weights = 0
    for (const { load, count } of this.kinds) {
      everybody += count * load.meanWorkingBytes
      weights += count * load.totalWeightBytes
    }
    // Weights are read again a whole batch later. They are still in L2 only if everything that is read in between also
    // fits.
    const reuse = ((weights + everybody) / this.#spec.l2Bytes) ** 2
    const weightsMissed = reuse / (1 + reuse)
    for (const kind of this.kinds) {
      const { load, offset } = kind
      const { occurrences, computing } = load.work
      kind.othersBytes = everybody - load.meanWorkingBytes
      let total = 0
      for (let i = load.work.size - 1; i >= 0; i--) {
        const pressure = (load.workingBytes[i]! + kind.othersBytes) / size
        const weightBytes = i < computing ? load.weightBytes[i]! : 0
        const missed =
          (load.bytes[i]! - weightBytes) * (1 - l2HitShare / (1 + pressure * pressure)) + weightBytes * weightsMissed
        total += occurrences[i]! * missed
        this.#dramBytes[offset + i] = i < computing ? missed : total
      }
      kind.totalDramBytes = total
    }
  }

  #adoptClock(smClockMhz: number): void {
    const { smBandwidthGBs, l2BandwidthFactor } = this.#work
    const perHz = 1e-6 / smClockMhz
    for (const kind of this.kinds) {
      const { load, offset } = kind
      const requested = smBandwidthGBs * 1e9 * load.sms * (smClockMhz / this.#spec.boostClockMhz)
      kind.requestBandwidth = Math.min(requested, this.capacity)
      kind.aloneInQueue = 1 + (kind.requestBandwidth / this.capacity) ** QUEUE
      const perL2 = 1 / (l2BandwidthFactor * kind.requestBandwidth)
      for (let i = 0; i < load.work.computing; i++) {
        this.#computeSP[offset + i] = this.#toPower(load.cycles[i]! * perHz)
        this.#l2S[offset + i] = load.bytes[i]! * perL2
      }
      kind.workS = this.#deviceS(kind, kind.requestBandwidth, 1)
      if (this.#work.neighbourLaw === 'compute') {
        kind.presence = (load.computingCycles * perHz) / kind.workS
        kind.exposure = 1 - SHELTERED * kind.presence
      }
    }
  }

  /** Computes device times with MPS: kernels of all clients run at the same time. */
  #runTogether(shares: Float64Array): void {
    const { kinds } = this
    let demand = 0
    let sms = 0
    let present = 0
    for (let k = 0; k < kinds.length; k++) {
      const { count, requestBandwidth, load, presence } = kinds[k]!
      demand += count * requestBandwidth * shares[SHARES * k + FELT]!
      const resident = count * load.sms * shares[SHARES * k + RESIDENT]!
      sms += resident
      present += presence * resident
    }
    // If shares sum to more than 100 %, they overlap, and the overlapping SMs are time-sliced.
    const overlap = Math.max(1, sms / this.#spec.smCount)
    for (let k = 0; k < kinds.length; k++) {
      const kind = kinds[k]!
      const { requestBandwidth, load, presence, exposure } = kind
      const others = Math.max(0, demand - requestBandwidth * shares[SHARES * k + FELT]!)
      const bandwidth = requestBandwidth * this.#served(k, requestBandwidth, others, shares)
      const elsewhere = present - presence * load.sms * shares[SHARES * k + RESIDENT]!
      const crowd = Math.min(1, Math.max(0, elsewhere / this.#spec.smCount))
      const crowded = 1 + this.#work.neighbourCost * exposure * crowd
      kind.deviceS = crowded * this.#deviceS(kind, bandwidth, overlap)
      kind.memoryS = kind.totalDramBytes / bandwidth
    }
  }

  /**
   * Computes device times without MPS: the kernels of one process have the whole board at a time. Each process waits
   * for the mean number of processes that are ready.
   */
  #takeTurns(shares: Float64Array): void {
    const { kinds } = this
    let present = 0
    for (let k = 0; k < kinds.length; k++) present += kinds[k]!.count * shares[SHARES * k + RESIDENT]!
    for (let k = 0; k < kinds.length; k++) {
      const kind = kinds[k]!
      kind.deviceS = kind.workS * (1 + Math.max(0, present - shares[SHARES * k + RESIDENT]!))
      kind.memoryS = 0
    }
  }

  /** Adds the host's time to the kernels' times, and computes the resulting shares of time. */
  #finishBatches(shares: Float64Array, image: Float64Array): void {
    const { kinds } = this
    const { launchUs, launchCapacityPerS, imageCapacityPerS, overlap } = this.#host
    const { contentionExponent } = this.#work
    let launching = 0
    let preparing = 0
    for (let k = 0; k < kinds.length; k++) {
      launching += kinds[k]!.count * shares[SHARES * k + LAUNCHING]!
      preparing += kinds[k]!.count * shares[SHARES * k + PREPARING]!
    }
    for (let k = 0; k < kinds.length; k++) {
      const kind = kinds[k]!
      const { load, deviceS } = kind
      const perLaunchS = (1 + Math.max(0, launching - shares[SHARES * k + LAUNCHING]!)) / launchCapacityPerS
      const perImageS = (1 + Math.max(0, preparing - shares[SHARES * k + PREPARING]!)) / imageCapacityPerS
      kind.launchS = load.kernels * fourthRootOfFourths(launchUs * 1e-6, perLaunchS)
      kind.imageS = load.work.prefetched ? 0 : fourthRootOfFourths(load.hostS, load.batchSize * perImageS)
      kind.batchS = overlapped(deviceS, kind.launchS, overlap) + kind.imageS
      const felt = Math.min(1, kind.memoryS / kind.batchS)
      image[SHARES * k + FELT] = felt > 0 ? felt ** contentionExponent : 0
      image[SHARES * k + LAUNCHING] = Math.min(1, kind.launchS / kind.batchS)
      image[SHARES * k + PREPARING] = Math.min(1, kind.imageS / kind.batchS)
      image[SHARES * k + RESIDENT] = Math.min(1, deviceS / kind.batchS)
    }
  }

  /** Raises a time to the exponent with which arithmetic and traffic are combined. */
  #toPower(seconds: number): number {
    const { saturation } = this.#work
    return saturation === 'smooth' ? fourthPower(seconds) : saturation === 'soft' ? seconds * seconds : seconds
  }

  /**
   * Fraction of the requested bandwidth that a tenant of kind `k` gets while others request `others` bytes/s, 0..1.
   */
  #served(k: number, request: number, others: number, shares: Float64Array): number {
    const proportional = Math.min(1, this.capacity / (request + others))
    const { contention } = this.#work
    if (contention === 'proportional') return proportional
    if (contention === 'queue') {
      const together = ((request + others) / this.capacity) ** QUEUE
      return Math.min(proportional, (this.kinds[k]!.aloneInQueue / (1 + together)) ** (1 / QUEUE))
    }
    return request + others <= this.capacity ? 1 : this.#maxMinShare(k, request, shares)
  }

  /**
   * Fraction of its requested bandwidth that a tenant of kind `k` gets by water filling: every request is served up to
   * a common level, the highest at which the bandwidth suffices. Requests of others count by the fraction of time in
   * which they contend.
   */
  #maxMinShare(k: number, request: number, shares: Float64Array): number {
    const byRequest = this.kinds
      .map((kind, j) => ({
        wants: kind.requestBandwidth,
        weight: kind.count * shares[SHARES * j + FELT]! + (j === k ? 1 - shares[SHARES * j + FELT]! : 0),
      }))
      .sort((a, b) => a.wants - b.wants)
    let left = this.capacity
    let weight = byRequest.reduce((sum, each) => sum + each.weight, 0)
    for (const each of byRequest) {
      const level = left / weight
      if (level <= each.wants) return Math.min(1, level / request)
      left -= each.weight * each.wants
      weight -= each.weight
    }
    return 1
  }

  /**
   * Time of a batch's kernels, s: the sum over operators of the smooth maximum of arithmetic and traffic time, plus the
   * fixed time of each kernel.
   */
  #deviceS(kind: Kind, bandwidth: number, overlap: number): number {
    const { load, offset } = kind
    const { occurrences, computing, size } = load.work
    const dramBytes = this.#dramBytes
    const computeSP = this.#computeSP
    const l2S = this.#l2S
    const l2Bandwidth = this.#work.l2BandwidthFactor * kind.requestBandwidth
    const threshold = this.#dramBoundFrom(kind, bandwidth / l2Bandwidth)
    const perBandwidth = 1 / bandwidth
    const { saturation } = this.#work
    const overlapP = this.#toPower(overlap)
    let sum = 0
    for (let i = 0; i < computing; i++) {
      const arithmetic = overlapP * computeSP[offset + i]!
      const traffic = this.#toPower(Math.max(l2S[offset + i]!, dramBytes[offset + i]! * perBandwidth))
      const seconds =
        saturation === 'smooth'
          ? Math.sqrt(Math.sqrt(arithmetic + traffic))
          : saturation === 'soft'
            ? Math.sqrt(arithmetic + traffic)
            : Math.max(arithmetic, traffic)
      sum += occurrences[i]! * seconds
    }
    const moving = lowerBound(load.workingBytes, computing, size, threshold)
    sum += load.movedBytes[moving - computing]! / l2Bandwidth + dramBytes[offset + moving]! * perBandwidth
    return sum + load.kernels * this.#host.kernelFloorUs * 1e-6
  }

  /**
   * Working set above which DRAM, not L2, limits an operator's traffic, bytes. The larger the working set, the fewer
   * bytes L2 serves. DRAM is the limit once the fraction that L2 does not serve exceeds the ratio of DRAM to L2
   * bandwidth.
   */
  #dramBoundFrom(kind: Kind, bandwidthRatio: number): number {
    const { l2HitShare, l2CapacityFactor } = this.#work
    if (bandwidthRatio >= 1) return Number.POSITIVE_INFINITY
    const pressure = Math.sqrt(Math.max(0, l2HitShare / (1 - bandwidthRatio) - 1))
    return pressure * l2CapacityFactor * this.#spec.l2Bytes - kind.othersBytes
  }
}

function newKind(load: TenantLoad, offset: number): Kind {
  return {
    load,
    count: 0,
    offset,
    othersBytes: 0,
    totalDramBytes: 0,
    requestBandwidth: 0,
    aloneInQueue: 1,
    batchS: 1,
    deviceS: 1,
    workS: 1,
    presence: 1,
    exposure: 1,
    memoryS: 1,
    launchS: 1,
    imageS: 1,
  }
}

/** First index in `low`..`high` whose value is at least `value`; `high` if there is none. */
function lowerBound(ascending: Float64Array, low: number, high: number, value: number): number {
  let from = low
  let to = high
  while (from < to) {
    const middle = (from + to) >>> 1
    if (ascending[middle]! < value) from = middle + 1
    else to = middle
  }
  return from
}

function fourthPower(x: number): number {
  const squared = x * x
  return squared * squared
}

/**
 * Smooth maximum of two times: close to the larger one if they differ, 19 % above if they are equal, for imperfect
 * overlap.
 */
function fourthRootOfFourths(a: number, b: number): number {
  return Math.sqrt(Math.sqrt(fourthPower(a) + fourthPower(b)))
}

/**
 * Duration of two overlapping activities: the p-norm of their times with p = `exponent`. p = 6: two equal times take 12
 * % longer than one. p = 1: one after the other.
 */
function overlapped(a: number, b: number, exponent: number): number {
  const high = Math.max(a, b)
  const r = Math.min(a, b) / high
  if (exponent === 6) {
    const r3 = r * r * r
    return high * Math.cbrt(Math.sqrt(1 + r3 * r3))
  }
  return high * (1 + r ** exponent) ** (1 / exponent)
}
