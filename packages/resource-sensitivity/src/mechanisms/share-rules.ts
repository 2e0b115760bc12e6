import type { Cluster } from '../cluster/cluster.js'
import type { EngineJob } from '../engine/engine-job.js'
import type { Placement } from '../engine/server-pool.js'
import { pricedProfile } from '../power/power-ways.js'
import { type JobProfile, type PerGpuShare, throughputAt } from '../profile/job-profile.js'

/** A share of CPU and memory beside each GPU, and what it gives. */
export interface AllocationOption extends PerGpuShare {
  readonly throughput: number
}

/** What jobs of one model may be given on one kind of server, none slower than with the GPU-proportional share. */
export interface AllocationOptions {
  /** Throughput with the GPU-proportional share. */
  readonly fairThroughput: number
  /** The cheapest first, then by rising throughput; no option is beaten by another in all of CPU, memory and throughput. */
  readonly options: readonly AllocationOption[]
}

/** Rounding in the tables must not make a fair share look slower than itself. */
const SAME = 1e-9

/**
 * The options of a model where the GPU-proportional share is `fair`: the points of its table and the fair share itself. The
 * first never needs more than the fair share of anything, so that a server always has room for as many as it has GPUs.
 */
export function allocationOptions(profile: JobProfile, fair: PerGpuShare): AllocationOptions {
  const fairThroughput = throughputAt(profile, fair.cpus, fair.memoryGb)
  const candidates: AllocationOption[] = [{ ...fair, throughput: fairThroughput }]
  profile.cpusPerGpu.forEach((cpus, i) => {
    profile.memoryGbPerGpu.forEach((memoryGb, j) => {
      const throughput = profile.throughput[i]![j]!
      if (throughput >= fairThroughput * (1 - SAME)) candidates.push({ cpus, memoryGb, throughput })
    })
  })
  const kept = candidates.filter((option, i) => !candidates.some((other, k) => beats(other, option, k < i)))
  const cost = ({ cpus, memoryGb }: AllocationOption) => cpus / fair.cpus + memoryGb / fair.memoryGb
  const withinFair = kept.filter((option) => option.cpus <= fair.cpus && option.memoryGb <= fair.memoryGb)
  const cheapest = withinFair.reduce((best, option) => (cost(option) < cost(best) ? option : best))
  const others = kept.filter((option) => option !== cheapest)
  others.sort((a, b) => a.throughput - b.throughput || cost(a) - cost(b))
  return { fairThroughput, options: [cheapest, ...others] }
}

function beats(a: AllocationOption, b: AllocationOption, first: boolean): boolean {
  if (a.cpus > b.cpus || a.memoryGb > b.memoryGb || a.throughput < b.throughput) return false
  return first || a.cpus < b.cpus || a.memoryGb < b.memoryGb || a.throughput > b.throughput
}

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
