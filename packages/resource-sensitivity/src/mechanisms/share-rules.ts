import type { Cluster } from '../cluster/cluster.js'
import type { EngineJob, JobClass, Placement } from '../engine/engine-job.js'
import { pricedProfile } from '../power/power-ways.js'
import type { PerGpuShare } from '../profile/job-profile.js'
import { type AllocationOptions, allocationOptions } from './allocation-options.js'

/** GPU-proportional share, with the GPU types if the cluster names them. Equal shares are the same object. */
export interface FairShare extends PerGpuShare {
  readonly gpuTypes?: readonly string[]
}

/** Options of each class of jobs by placement, and the price of a watt that they include. */
export class ShareRules {
  /** GPU-proportional share of every server. */
  readonly #fair: readonly FairShare[]
  readonly #shares = new Map<string, FairShare>()
  readonly #known = new Map<FairShare, Map<JobClass, AllocationOptions>>()
  #price = 0

  constructor(cluster: Cluster) {
    this.#fair = cluster.servers.flatMap(({ count, gpus, cpus, memoryGb, gpuType }) => {
      const share = this.#share(cpus / gpus, memoryGb / gpus, gpuType === undefined ? undefined : [gpuType])
      return Array.from({ length: count }, () => share)
    })
  }

  /** GPU-proportional share of a job: the smallest of its servers, since its GPUs run in lockstep. */
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
  options({ kind }: EngineJob, share: FairShare): AllocationOptions {
    const ofShare = this.#known.get(share) ?? new Map<JobClass, AllocationOptions>()
    const known = ofShare.get(kind)
    if (known !== undefined) return known
    const { profile, gpus } = kind
    const { gpuTypes } = share
    const priced = gpuTypes === undefined ? profile : pricedProfile(profile, gpuTypes, this.#price * gpus)
    const options = allocationOptions(priced, share)
    this.#known.set(share, ofShare.set(kind, options))
    return options
  }

  #share(cpus: number, memoryGb: number, gpuTypes?: readonly string[]): FairShare {
    const key = `${cpus}/${memoryGb}/${gpuTypes?.join() ?? ''}`
    const share = this.#shares.get(key) ?? { cpus, memoryGb, ...(gpuTypes && { gpuTypes }) }
    this.#shares.set(key, share)
    return share
  }
}
