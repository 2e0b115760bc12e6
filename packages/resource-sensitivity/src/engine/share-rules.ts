import type { Cluster } from '../cluster/cluster.js'
import { pricedProfile } from '../power/power-ways.js'
import type { JobProfile, PerGpuShare } from '../profile/job-profile.js'
import { type AllocationOptions, allocationOptions } from './allocation-options.js'
import type { Placement } from './server-pool.js'

/** The GPU-proportional share of a server or a job, with the types of the GPUs where the cluster says them. */
export interface FairShare extends PerGpuShare {
  readonly gpuTypes?: readonly string[]
}

/** What each model may be given where: worked out once per model and GPU-proportional share. */
export class ShareRules {
  readonly #profiles: readonly JobProfile[]
  /** GPU-proportional share of every server. */
  readonly #fair: readonly FairShare[]
  readonly #cache: Map<FairShare, Map<number, AllocationOptions>>[]
  readonly #met = new Map<string, FairShare>()
  #price = 0

  constructor(profiles: readonly JobProfile[], cluster: Cluster) {
    this.#profiles = profiles
    this.#fair = cluster.servers.flatMap(({ count, gpus, cpus, memoryGb, gpuType }) => {
      const share = this.#share(cpus / gpus, memoryGb / gpus, gpuType === undefined ? undefined : [gpuType])
      return Array.from({ length: count }, () => share)
    })
    this.#cache = profiles.map(() => new Map())
  }

  /** GPU-proportional share of a job: on several servers the least of theirs, since all its GPUs keep step. */
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

  /** What a watt costs from now on, in throughput. */
  setPrice(price: number): void {
    if (price === this.#price) return
    this.#price = price
    for (const cache of this.#cache) cache.clear()
  }

  get price(): number {
    return this.#price
  }

  /** @param gpus of the job: where watts have a price, each of its GPUs pays */
  options(profile: number, share: FairShare, gpus: number): AllocationOptions {
    const cache = this.#cache[profile]!
    if (!cache.has(share)) cache.set(share, new Map())
    const factor = this.#price === 0 ? 0 : this.#price * gpus
    const known = cache.get(share)!.get(factor)
    if (known !== undefined) return known
    const own = this.#profiles[profile]!
    const options = allocationOptions(
      share.gpuTypes === undefined ? own : pricedProfile(own, share.gpuTypes, factor),
      share,
    )
    cache.get(share)!.set(factor, options)
    return options
  }

  /** One object for equal shares, so that they can be keys. */
  #share(cpus: number, memoryGb: number, gpuTypes?: readonly string[]): FairShare {
    const key = `${cpus}/${memoryGb}/${gpuTypes?.join() ?? ''}`
    const known = this.#met.get(key)
    if (known !== undefined) return known
    const share = { cpus, memoryGb, ...(gpuTypes && { gpuTypes }) }
    this.#met.set(key, share)
    return share
  }
}
