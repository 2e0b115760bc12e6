import type { Cluster } from '../cluster.js'
import type { EngineJob, JobClass, Seat } from '../engine/engine-job.js'
import { type JobProfile, type PerGpuShare, tableAt } from '../profile/job-profile.js'
import { type AllocationOptions, allocationOptions, type WattOption } from './allocation.js'

/** GPU-proportional share, with the GPU types if the cluster names them. Equal shares are the same object. */
export interface FairShare extends PerGpuShare {
  readonly gpuTypes?: readonly string[]
}

/** Caches the options of each class of jobs by placement. The options include the price of a watt. */
export class ShareRules {
  /** GPU-proportional share of every server. */
  readonly fair: readonly FairShare[]
  readonly #shares = new Map<string, FairShare>()
  readonly #known = new Map<FairShare, Map<JobClass, AllocationOptions>>()
  #price = 0

  constructor(cluster: Cluster) {
    this.fair = cluster.servers.flatMap(({ count, gpus, cpus, memoryGb, gpuType }) => {
      const share = this.#share(cpus / gpus, memoryGb / gpus, gpuType === undefined ? undefined : [gpuType])
      return Array.from({ length: count }, () => share)
    })
  }

  /** GPU-proportional share of a job. It is the smallest share of its servers, since its GPUs run in lockstep. */
  fairShare(placement: readonly Seat[]): FairShare {
    return placement
      .map(({ server }) => this.fair[server]!)
      .reduce((share, other) => {
        if (other === share) return share
        const types = share.gpuTypes && [...new Set([...share.gpuTypes, ...other.gpuTypes!])].sort()
        return this.#share(Math.min(share.cpus, other.cpus), Math.min(share.memoryGb, other.memoryGb), types)
      })
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
  options({ kind, placement }: EngineJob, share: FairShare = this.fairShare(placement!)): AllocationOptions {
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

/** GPUs of a job on servers of one type. */
export interface TypedSeat {
  readonly gpuType: string
  readonly gpus: number
}

/** An operating point of a job on its seats: power limit on each GPU type, total power above idle, and throughput. */
export interface PowerWay extends WattOption {
  readonly limitsW: ReadonlyMap<string, number>
}

/**
 * Operating points of a job with the given cores and memory per GPU, strictly ascending in watts and throughput. GPUs
 * of several types run in lockstep, so each draws no more than the common pace requires.
 *
 * @param limitsW the limits in force, if they cannot change
 */
export function powerWays(
  profile: JobProfile,
  seats: readonly TypedSeat[],
  cpus: number,
  memoryGb: number,
  limitsW?: ReadonlyMap<string, number>,
): readonly PowerWay[] {
  const bySeat = seats.map(({ gpuType }) =>
    profile
      .gpus!.filter((point) => point.gpuType === gpuType)
      .filter(({ powerLimitW }) => limitsW === undefined || limitsW.get(gpuType) === powerLimitW)
      .map(({ powerLimitW, throughput, dynamicPowerW }) => ({
        powerLimitW,
        throughput: tableAt(profile, throughput, cpus, memoryGb),
        watts: dynamicPowerW,
      }))
      .sort((a, b) => a.watts - b.watts),
  )
  const fastest = Math.min(...bySeat.map((points) => Math.max(...points.map(({ throughput }) => throughput))))
  const paces = new Set(bySeat.flat().map(({ throughput }) => Math.min(throughput, fastest)))
  const ways = [...paces].map((throughput): PowerWay => {
    const chosen = bySeat.map((points) => points.find((point) => point.throughput >= throughput)!)
    return {
      limitsW: new Map(chosen.map(({ powerLimitW }, i) => [seats[i]!.gpuType, powerLimitW])),
      watts: chosen.reduce((sum, { watts }, i) => sum + watts * seats[i]!.gpus, 0),
      throughput,
    }
  })
  ways.sort((a, b) => a.watts - b.watts || b.throughput - a.throughput)
  let best = 0
  return ways.filter(({ throughput }) => {
    if (throughput <= best) return false
    best = throughput
    return true
  })
}

/** Profile of a model if a watt costs `price`: each throughput is reduced by the cost of its watts. */
function pricedProfile(profile: JobProfile, gpuTypes: readonly string[], price: number): JobProfile {
  const seats = gpuTypes.map((gpuType) => ({ gpuType, gpus: 1 / gpuTypes.length }))
  const worth = (cpus: number, memoryGb: number) =>
    Math.max(...powerWays(profile, seats, cpus, memoryGb).map(({ throughput, watts }) => throughput - price * watts))
  return {
    ...profile,
    throughput: profile.cpusPerGpu.map((cpus) => profile.memoryGbPerGpu.map((memoryGb) => worth(cpus, memoryGb))),
  }
}
