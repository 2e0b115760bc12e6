import type { JobProfile, PerGpuShare } from '@pctodl/job-profile'
import type { Cluster } from '../cluster/cluster.js'
import { type AllocationOptions, allocationOptions } from './allocation-options.js'
import type { Placement } from './server-pool.js'

/** What each model may be given where: worked out once per model and GPU-proportional share. */
export class ShareRules {
  readonly #profiles: readonly JobProfile[]
  /** GPU-proportional share of every server. */
  readonly #fair: readonly PerGpuShare[]
  readonly #cache: Map<PerGpuShare, AllocationOptions>[]
  readonly #met = new Map<string, PerGpuShare>()

  constructor(profiles: readonly JobProfile[], cluster: Cluster) {
    this.#profiles = profiles
    this.#fair = cluster.servers.flatMap(({ count, gpus, cpus, memoryGb }) => {
      const share = this.#share(cpus / gpus, memoryGb / gpus)
      return Array.from({ length: count }, () => share)
    })
    this.#cache = profiles.map(() => new Map())
  }

  /** GPU-proportional share of a job: on several servers the least of theirs, since all its GPUs keep step. */
  fairShare({ servers }: Placement): PerGpuShare {
    let share = this.#fair[servers[0]!]!
    for (let i = 1; i < servers.length; i++) {
      const other = this.#fair[servers[i]!]!
      if (other === share) continue
      share = this.#share(Math.min(share.cpus, other.cpus), Math.min(share.memoryGb, other.memoryGb))
    }
    return share
  }

  fairShareOf(server: number): PerGpuShare {
    return this.#fair[server]!
  }

  options(profile: number, share: PerGpuShare): AllocationOptions {
    const known = this.#cache[profile]!.get(share)
    if (known !== undefined) return known
    const options = allocationOptions(this.#profiles[profile]!, share)
    this.#cache[profile]!.set(share, options)
    return options
  }

  /** One object for equal shares, so that they can be keys. */
  #share(cpus: number, memoryGb: number): PerGpuShare {
    const key = `${cpus}/${memoryGb}`
    const known = this.#met.get(key)
    if (known !== undefined) return known
    const share = { cpus, memoryGb }
    this.#met.set(key, share)
    return share
  }
}
