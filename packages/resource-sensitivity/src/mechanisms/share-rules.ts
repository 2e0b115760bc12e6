import type { Cluster } from '../cluster/cluster.js'
import type { EngineJob, Placement } from '../engine/engine-job.js'
import { pricedProfile } from '../power/power-ways.js'
import type { JobProfile, PerGpuShare } from '../profile/job-profile.js'
import { type AllocationOptions, allocationOptions } from './allocation-options.js'

/**
 * GPU-proportional share of a server or job, with the GPU types if the cluster names them. Equal shares are the same
 * object.
 */
export interface FairShare extends PerGpuShare {
  readonly gpuTypes?: readonly string[]
}

/** Options of each model by placement, cached by model, GPU-proportional share and price of a watt. */
export class ShareRules {
  /** GPU-proportional share of every server. */
  readonly #fair: readonly FairShare[]
  readonly #shares = new Map<string, FairShare>()
  /** Cache by share, model and the price of a watt for all GPUs of a job. */
  readonly #known = new Map<FairShare, Map<JobProfile, Map<number, AllocationOptions>>>()
  #price = 0

  constructor(cluster: Cluster) {
    this.#fair = cluster.servers.flatMap(({ count, gpus, cpus, memoryGb, gpuType }) => {
      const share = this.#share(cpus / gpus, memoryGb / gpus, gpuType === undefined ? undefined : [gpuType])
      return Array.from({ length: count }, () => share)
    })
  }

  /**
   * GPU-proportional share of a job. On several servers it is the smallest of theirs, since all its GPUs run in
   * lockstep.
   */
  fairShare({ servers }: Placement): FairShare {
    let share = this.#fair[servers[0]!]!
    for (let i = 1; i < servers.length; i++) {
      const other = this.#fair[servers[i]!]!
      if (other === share) continue
      const types = share.gpuTypes && [...new Set([...share.gpuTypes, ...other.gpuTypes!])].sort()
      share = this.#share(Math.min(share.cpus, other.cpus), Math.min(share.memoryGb, other.memoryGb), types)
    }
    return share
  }

  fairShareOf(server: number): FairShare {
    return this.#fair[server]!
  }

  /** Set the price of a watt, in throughput. */
  setPrice(price: number): void {
    if (price !== this.#price) this.#known.clear()
    this.#price = price
  }

  get price(): number {
    return this.#price
  }

  /** Returns the options of a job. If watts have a price, the job pays it for each of its GPUs. */
  options({ profile, gpus }: EngineJob, share: FairShare): AllocationOptions {
    const price = this.#price === 0 ? 0 : this.#price * gpus
    const known = this.#known.get(share)?.get(profile)?.get(price)
    if (known !== undefined) return known
    const ofModel = made(
      made(this.#known, share, () => new Map()),
      profile,
      () => new Map<number, AllocationOptions>(),
    )
    return made(ofModel, price, () =>
      allocationOptions(share.gpuTypes === undefined ? profile : pricedProfile(profile, share.gpuTypes, price), share),
    )
  }

  #share(cpus: number, memoryGb: number, gpuTypes?: readonly string[]): FairShare {
    const key = `${cpus}/${memoryGb}/${gpuTypes?.join() ?? ''}`
    const share = this.#shares.get(key) ?? { cpus, memoryGb, ...(gpuTypes && { gpuTypes }) }
    this.#shares.set(key, share)
    return share
  }
}

/** Get the value of a key, creating it if absent. */
function made<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
