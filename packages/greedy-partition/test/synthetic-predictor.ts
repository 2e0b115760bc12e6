import type { Prediction, Predictor } from '@pctodl/perf-model'
import {
  type Configuration,
  type GpuSpec,
  InvalidInputError,
  memoryBandwidth,
  smClocksAt,
  smsOfShare,
  type Tenant,
  UnknownNameError,
} from '@pctodl/platform'

/** What one network demands of a board: round numbers of a realistic size, not measurements. */
export interface SyntheticNetwork {
  readonly gflopPerSample: number
  readonly megabytesPerSample: number
  readonly weightMegabytes: number
  /** Kernels per batch, each with at least the launch floor. */
  readonly kernels: number
}

export const syntheticNetworks: Readonly<Record<string, SyntheticNetwork>> = {
  /** Few operations, much traffic, many kernels. */
  light: { gflopPerSample: 0.6, megabytesPerSample: 28, weightMegabytes: 7, kernels: 110 },
  middle: { gflopPerSample: 8.2, megabytesPerSample: 55, weightMegabytes: 51, kernels: 120 },
  /** Many operations, few kernels, large weights. */
  heavy: { gflopPerSample: 39, megabytesPerSample: 80, weightMegabytes: 290, kernels: 40 },
}

const LAUNCH_MS = 0.004
/** Time in which the host feeds a batch and the tenant computes nothing. */
const HOST_MS_PER_SAMPLE = 0.01
const MEMORY_ACCESS_EFFICIENCY = 0.8
/** Loss of each tenant per 100 % share in use by the others: shared L2 and front end. */
const CONTENTION = 0.12

/**
 * A small physical model with the shape of a `Predictor`: kernels run at the larger of launch floor and compute/DRAM
 * roofline, DRAM bandwidth is shared by all, dynamic power follows V²f. Tenants are summed in one order, so predictions are
 * the same for every order of the same tenants.
 */
export class SyntheticPredictor implements Predictor {
  readonly memClocksMhz: readonly number[]
  /** How often the search asked. */
  calls = 0

  constructor(
    readonly spec: GpuSpec,
    readonly networks: Readonly<Record<string, SyntheticNetwork>> = syntheticNetworks,
  ) {
    this.memClocksMhz = spec.performanceMemClocksMhz
  }

  predict({ tenants, smClockMhz, memClockMhz }: Configuration): Prediction {
    this.calls++
    if (!smClocksAt(this.spec, memClockMhz)?.includes(smClockMhz)) {
      throw new InvalidInputError('smClockMhz', smClockMhz, 'a supported clock')
    }
    const order = tenants.map((_, i) => i).sort((i, j) => compareTenants(tenants[i]!, tenants[j]!))
    const sorted = order.map((i) => tenants[i]!)
    const bandwidth = (memoryBandwidth(this.spec, memClockMhz) / 1e9) * MEMORY_ACCESS_EFFICIENCY // MB/ms
    const shareSum = sorted.reduce((sum, tenant) => sum + tenant.mpsPercent, 0)
    const parts = sorted.map((tenant) => this.#part(tenant, smClockMhz, bandwidth, shareSum))

    const { stretch, traffic } = shareBandwidth(parts, bandwidth)
    let throughput = 0
    let busy = 0
    const byTenant = new Array(tenants.length)
    parts.forEach((part, i) => {
      const latencyMs = batchMs(part, stretch)
      const perSecond = (sorted[i]!.batchSize / latencyMs) * 1000
      byTenant[order[i]!] = { throughput: perSecond, latencyMs }
      throughput += perSecond
      busy +=
        (part.sms / this.spec.smCount) * (0.35 * (1 - part.launchMs / latencyMs) + (0.65 * part.computeMs) / latencyMs)
    })
    const used = traffic / bandwidth
    const { default: tdpW } = this.spec.powerLimitW
    const maxMhz = smClocksAt(this.spec, memClockMhz)!.at(-1)!
    const topMemMhz = this.spec.performanceMemClocksMhz[0]!
    const voltage = this.#voltage(smClockMhz / maxMhz)
    const powerW =
      tdpW *
      (0.12 +
        0.1 * (memClockMhz / topMemMhz) +
        0.06 * (smClockMhz / maxMhz) * voltage ** 2 +
        1.05 * busy * (smClockMhz / maxMhz) * voltage ** 2 +
        0.16 * used * (memClockMhz / topMemMhz))
    return {
      throughput,
      powerW,
      smUtilPercent: Math.min(
        100,
        100 * parts.reduce((u, p) => Math.max(u, 1 - (0.5 * p.launchMs) / batchMs(p, stretch)), 0),
      ),
      memUtilPercent: 100 * Math.min(1, used),
      tenants: byTenant,
    }
  }

  solveSmClock(tenants: readonly Tenant[], memClockMhz: number, powerCapW: number): number | undefined {
    const clocks = smClocksAt(this.spec, memClockMhz)!
    let low = -1
    let high = clocks.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.predict({ tenants, memClockMhz, smClockMhz: clocks[middle]! }).powerW <= powerCapW) low = middle
      else high = middle
    }
    return clocks[low]
  }

  memoryBytes({ model, batchSize }: Tenant): number {
    const network = this.#network(model)
    return 1e6 * (420 + network.weightMegabytes + 0.25 * network.megabytesPerSample * batchSize)
  }

  #part({ model, mpsPercent, batchSize }: Tenant, smClockMhz: number, bandwidth: number, shareSum: number): Part {
    const network = this.#network(model)
    const sms = smsOfShare(this.spec, mpsPercent)
    const slowdown = 1 + CONTENTION * ((shareSum - mpsPercent) / 100)
    // A batch fills the SMs only when it brings enough thread blocks per SM, and late layers bring few.
    const filled = batchSize / (batchSize + 1.2 * sms)
    const flopPerMs = sms * this.spec.tensorFlopPerClockPerSm * smClockMhz * 1e3 * 0.55 * filled
    return {
      sms,
      megabytes: network.megabytesPerSample * batchSize + network.weightMegabytes,
      launchMs: network.kernels * LAUNCH_MS + batchSize * HOST_MS_PER_SAMPLE,
      computeMs: ((network.gflopPerSample * 1e9 * batchSize) / flopPerMs) * slowdown,
      // One SM cannot use the whole bandwidth; half of the SMs saturate it.
      memoryMs:
        ((network.megabytesPerSample * batchSize + network.weightMegabytes) /
          (bandwidth * Math.min(1, (2 * sms) / this.spec.smCount))) *
        slowdown,
    }
  }

  #voltage(relativeClock: number): number {
    return relativeClock < 0.45 ? 0.66 : 0.66 + ((relativeClock - 0.45) / 0.55) * 0.34
  }

  #network(model: string): SyntheticNetwork {
    const network = this.networks[model]
    if (network === undefined) throw new UnknownNameError('network', model, Object.keys(this.networks))
    return network
  }
}

interface Part {
  readonly sms: number
  readonly megabytes: number
  readonly launchMs: number
  readonly computeMs: number
  readonly memoryMs: number
}

/** Layers differ, so the roofline is a smooth one. */
function batchMs({ launchMs, computeMs, memoryMs }: Part, stretch: number): number {
  return launchMs + Math.cbrt(computeMs ** 3 + (memoryMs * stretch) ** 3)
}

/**
 * Stretch the memory-bound time of all tenants until their traffic fits into the bandwidth (Newton's method; traffic is
 * a falling, convex function).
 */
function shareBandwidth(parts: readonly Part[], bandwidth: number): { stretch: number; traffic: number } {
  let stretch = 1
  for (let i = 0; ; i++) {
    let traffic = 0
    let slope = 0
    for (const part of parts) {
      const ms = batchMs(part, stretch)
      const roofline = ms - part.launchMs
      traffic += part.megabytes / ms
      slope -= (part.megabytes / ms ** 2) * ((part.memoryMs ** 3 * stretch ** 2) / roofline ** 2)
    }
    if (traffic <= bandwidth * (1 + 1e-9) || i === 12) return { stretch, traffic }
    stretch += (bandwidth - traffic) / slope
  }
}

function compareTenants(a: Tenant, b: Tenant): number {
  return (
    a.mpsPercent - b.mpsPercent || a.batchSize - b.batchSize || (a.model < b.model ? -1 : a.model > b.model ? 1 : 0)
  )
}
