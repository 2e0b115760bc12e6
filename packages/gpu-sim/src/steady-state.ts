import { type Configuration, type GpuSpec, memoryBandwidth, smsOfShare } from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'
import { networkWork } from './network-work.js'
import { type TenantLoad, tenantLoad } from './tenant-load.js'

export interface TenantSteadyState {
  /** Samples/s. */
  throughput: number
  /** Time of one batch, ms. */
  batchMs: number
  /** Share of the time in which the tenant's kernels are on the device, 0..1. */
  deviceShare: number
}

/** What a configuration settles to: rates, not yet watts. */
export interface SteadyState {
  readonly tenants: readonly TenantSteadyState[]
  readonly throughput: number
  /** SMs at work, averaged over time. */
  readonly busySms: number
  readonly flopPerS: number
  readonly l2BytesPerS: number
  readonly dramBytesPerS: number
  /** Share of the time in which any kernel is resident, 0..100. */
  readonly smUtilPercent: number
  /** Share of the time in which DRAM is busy, 0..100. */
  readonly memUtilPercent: number
}

const IDLE: SteadyState = {
  tenants: [],
  throughput: 0,
  busySms: 0,
  flopPerS: 0,
  l2BytesPerS: 0,
  dramBytesPerS: 0,
  smUtilPercent: 0,
  memUtilPercent: 0,
}

/** Tenants of one network, batch size and share are the same to the board; they are solved once. */
interface Kind {
  readonly load: TenantLoad
  count: number
  /** Bytes that miss L2, per operator. */
  readonly dramBytes: Float64Array
  totalDramBytes: number
  requestBandwidth: number
  deviceS: number
  memoryS: number
  /** Time to launch the batch's operators, s. */
  hostS: number
  /** Time to prepare and copy the batch's images, s. */
  imageS: number
  batchS: number
}

/**
 * Solves what configurations settle to. Loads of (network, batch, SMs) are computed once and kept.
 *
 * A batch takes, operator after operator, the longer of its arithmetic and its memory traffic (with a short overlap
 * penalty) plus a floor per kernel, while the host launches the next operators beside it; whichever side is slower sets
 * the pace, and the time per image in the host comes on top. Tenants meet in three places: DRAM, L2 and the rate at which
 * all clients together can launch. How much they are in each other's way depends on how busy they are, which depends on
 * how much they are in each other's way: a fixed point.
 */
export class SteadyStateSolver {
  readonly #spec: GpuSpec
  readonly #physics: BoardPhysics
  readonly #loads = new Map<string, TenantLoad>()

  constructor(spec: GpuSpec, physics: BoardPhysics) {
    this.#spec = spec
    this.#physics = physics
  }

  solve({ tenants, smClockMhz, memClockMhz }: Configuration): SteadyState {
    if (tenants.length === 0) return IDLE
    const { work } = this.#physics
    const kinds = new Map<string, Kind>()
    const kindOf = tenants.map((tenant) => {
      const load = this.#load(tenant.model, tenant.batchSize, tenant.mpsPercent)
      const key = `${load.work.name} ${load.batchSize} ${load.sms}`
      let kind = kinds.get(key)
      if (!kind) {
        kind = newKind(load)
        kinds.set(key, kind)
      }
      kind.count++
      return kind
    })
    const all = [...kinds.values()]
    const smHz = smClockMhz * 1e6
    const capacity = work.dramEfficiency * memoryBandwidth(this.#spec, memClockMhz)
    this.#missL2(all)
    for (const kind of all) {
      const requested = work.smBandwidthGBs * 1e9 * kind.load.sms * (smClockMhz / this.#spec.boostClockMhz)
      kind.requestBandwidth = Math.min(requested, capacity)
    }
    this.#settle(all, smHz, capacity)

    let busySms = 0
    let flopPerS = 0
    let l2BytesPerS = 0
    let dramBytesPerS = 0
    let noneResident = 1
    let throughput = 0
    for (const { load, count, batchS, deviceS, totalDramBytes } of all) {
      const rate = count / batchS
      busySms += rate * deviceS * load.sms
      flopPerS += rate * load.flops
      l2BytesPerS += rate * load.totalBytes
      dramBytesPerS += rate * totalDramBytes
      throughput += rate * load.batchSize
      noneResident *= (1 - Math.min(1, deviceS / batchS)) ** count
    }
    return {
      tenants: kindOf.map(({ load, batchS, deviceS }) => ({
        throughput: load.batchSize / batchS,
        batchMs: batchS * 1e3,
        deviceShare: Math.min(1, deviceS / batchS),
      })),
      throughput,
      busySms: Math.min(busySms, this.#spec.smCount),
      flopPerS,
      l2BytesPerS,
      dramBytesPerS,
      smUtilPercent: 100 * (1 - noneResident),
      memUtilPercent: Math.min(100, (100 * dramBytesPerS) / capacity),
    }
  }

  #load(model: string, batchSize: number, mpsPercent: number): TenantLoad {
    const sms = smsOfShare(this.#spec, mpsPercent)
    const key = `${model} ${batchSize} ${sms}`
    let load = this.#loads.get(key)
    if (!load) {
      load = tenantLoad(this.#spec, this.#physics.work, networkWork(model), batchSize, sms)
      this.#loads.set(key, load)
    }
    return load
  }

  /** L2 is shared: what hits depends on everybody's working set. */
  #missL2(kinds: readonly Kind[]): void {
    const { l2HitShare, l2CapacityFactor } = this.#physics.work
    const size = l2CapacityFactor * this.#spec.l2Bytes
    let everybody = 0
    for (const { load, count } of kinds) everybody += count * load.meanWorkingBytes
    for (const kind of kinds) {
      const { load, dramBytes } = kind
      const others = everybody - load.meanWorkingBytes
      const { occurrences } = load.work
      let total = 0
      for (let i = 0; i < dramBytes.length; i++) {
        const pressure = (load.workingBytes[i]! + others) / size
        const missed = load.bytes[i]! * (1 - l2HitShare / (1 + pressure * pressure))
        dramBytes[i] = missed
        total += occurrences[i]! * missed
      }
      kind.totalDramBytes = total
    }
  }

  #settle(kinds: readonly Kind[], smHz: number, capacity: number): void {
    const { work } = this.#physics
    const launchS = work.launchUs * 1e-6
    const perCapacityS = 1 / work.launchCapacityPerS
    for (let iteration = 0; iteration < 60; iteration++) {
      let demand = 0
      let launching = 0
      let preparing = 0
      let sms = 0
      for (const kind of kinds) {
        demand += kind.count * kind.requestBandwidth * felt(kind, work.contentionExponent)
        launching += kind.count * Math.min(1, kind.hostS / kind.batchS)
        preparing += kind.count * Math.min(1, kind.imageS / kind.batchS)
        sms += kind.count * kind.load.sms * Math.min(1, kind.deviceS / kind.batchS)
      }
      // Shares above 100 % in sum overlap: the SMs are time-sliced.
      const overlap = Math.max(1, sms / this.#spec.smCount)
      let change = 0
      for (const kind of kinds) {
        const { load, requestBandwidth } = kind
        const others = demand - requestBandwidth * felt(kind, work.contentionExponent)
        const bandwidth = requestBandwidth * Math.min(1, capacity / (requestBandwidth + others))
        this.#runOnDevice(kind, smHz, bandwidth, overlap)
        const otherLaunchers = launching - Math.min(1, kind.hostS / kind.batchS)
        const contended = (1 + Math.max(0, otherLaunchers)) * perCapacityS
        kind.hostS = load.work.operators * fourthRootOfFourths(launchS, contended)
        const otherImages = Math.max(0, preparing - Math.min(1, kind.imageS / kind.batchS))
        const perImageS = (1 + otherImages) / work.imageCapacityPerS
        kind.imageS = fourthRootOfFourths(load.hostS, load.batchSize * perImageS)
        const batchS = sixthRootOfSixths(kind.deviceS, kind.hostS) + kind.imageS
        change = Math.max(change, Math.abs(batchS / kind.batchS - 1))
        // Half steps: a full one overshoots where two tenants push each other aside.
        kind.batchS = iteration === 0 ? batchS : 0.5 * (kind.batchS + batchS)
      }
      if (iteration > 0 && change < 1e-7) return
    }
  }

  #runOnDevice(kind: Kind, smHz: number, bandwidth: number, overlap: number): void {
    const { work } = this.#physics
    const { load, dramBytes } = kind
    const { occurrences } = load.work
    const perBandwidth = 1 / bandwidth
    const perL2 = 1 / (work.l2BandwidthFactor * kind.requestBandwidth)
    const perHz = overlap / smHz
    const floorS = work.kernelFloorUs * 1e-6
    let device = 0
    let memory = 0
    for (let i = 0; i < dramBytes.length; i++) {
      const compute = load.cycles[i]! * perHz
      const dram = dramBytes[i]! * perBandwidth
      const l2 = load.bytes[i]! * perL2
      const traffic = dram > l2 ? dram : l2
      device += occurrences[i]! * (fourthRootOfFourths(compute, traffic) + floorS)
      memory += occurrences[i]! * dram
    }
    kind.deviceS = device
    kind.memoryS = memory
  }
}

/** Share of the time in which a tenant's traffic is felt by the others, 0..1. */
function felt(kind: Kind, exponent: number): number {
  const share = Math.min(1, kind.memoryS / kind.batchS)
  return share > 0 ? share ** exponent : 0
}

function newKind(load: TenantLoad): Kind {
  return {
    load,
    count: 0,
    dramBytes: new Float64Array(load.bytes.length),
    totalDramBytes: 0,
    requestBandwidth: 0,
    deviceS: 1,
    memoryS: 1,
    hostS: 1,
    imageS: load.hostS,
    batchS: 1,
  }
}

/** Smooth maximum of two times: near either alone when they differ, 19 % above when equal (imperfect overlap). */
function fourthRootOfFourths(a: number, b: number): number {
  const a2 = a * a
  const b2 = b * b
  return Math.sqrt(Math.sqrt(a2 * a2 + b2 * b2))
}

/** The same, sharper: 12 % above when equal. */
function sixthRootOfSixths(a: number, b: number): number {
  const high = a > b ? a : b
  const r = (a > b ? b : a) / high
  const r3 = r * r * r
  return high * Math.cbrt(Math.sqrt(1 + r3 * r3))
}
