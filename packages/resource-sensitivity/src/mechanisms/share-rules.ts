import type { Cluster } from '../cluster/cluster.js'
import type { EngineJob, Placement } from '../engine/engine-job.js'
import { pricedProfile } from '../power/power-ways.js'
import type { JobProfile, PerGpuShare } from '../profile/job-profile.js'
import { type AllocationOptions, allocationOptions } from './allocation-options.js'

/** The GPU-proportional share of a server or a job, with the types of the GPUs where the cluster says them. One object for equal shares. */
export interface FairShare extends PerGpuShare {
  readonly gpuTypes?: readonly string[]
}

/** What each model may be given where: worked out once per model and GPU-proportional share. */
export class ShareRules {
  /** GPU-proportional share of every server. */
  readonly #fair: readonly FairShare[]
  readonly #shares = new Map<string, FairShare>()
  /** By share, model and what a watt costs all GPUs of a job. */
  readonly #known = new Map<FairShare, Map<JobProfile, Map<number, AllocationOptions>>>()
  #price = 0

  constructor(cluster: Cluster) {
    this.#fair = cluster.servers.flatMap(({ count, gpus, cpus, memoryGb, gpuType }) => {
      const share = this.#share(cpus / gpus, memoryGb / gpus, gpuType === undefined ? undefined : [gpuType])
      return Array.from({ length: count }, () => share)
    })
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
    if (price !== this.#price) this.#known.clear()
    this.#price = price
  }

  get price(): number {
    return this.#price
  }

  /** Where watts have a price, each GPU of the job pays. */
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

/** What a map has under a key, made where it has nothing yet. */
function made<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
