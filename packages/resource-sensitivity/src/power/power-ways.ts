import { type JobProfile, tableAt } from '../profile/job-profile.js'

/** GPUs of a job on servers of one type. */
export interface TypedSeat {
  readonly gpuType: string
  readonly gpus: number
}

/** An operating point of a job on its seats: power limit per seat, total power above idle, and throughput. */
export interface PowerWay {
  readonly powerLimitsW: readonly number[]
  readonly watts: number
  readonly throughput: number
}

/**
 * Operating points of a job with the given cores and memory per GPU, strictly ascending in watts and throughput. GPUs
 * of several types run in lockstep, so each draws no more than the common pace requires.
 */
export function powerWays(
  profile: JobProfile,
  seats: readonly TypedSeat[],
  cpus: number,
  memoryGb: number,
): readonly PowerWay[] {
  const bySeat = seats.map(({ gpuType }) =>
    profile
      .gpus!.filter((point) => point.gpuType === gpuType)
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
      powerLimitsW: chosen.map(({ powerLimitW }) => powerLimitW),
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

/** The operating point of a job under its current limits. */
export function wayUnder(
  profile: JobProfile,
  seats: readonly TypedSeat[],
  { powerLimitsW, watts }: PowerWay,
  cpus: number,
  memoryGb: number,
): PowerWay {
  const paces = seats.map(({ gpuType }, i) => {
    const point = profile.gpus!.find((each) => each.gpuType === gpuType && each.powerLimitW === powerLimitsW[i])!
    return tableAt(profile, point.throughput, cpus, memoryGb)
  })
  return { powerLimitsW, watts, throughput: Math.min(...paces) }
}

/** Profile of a model if a watt costs `price`: throughput minus the cost of its watts replaces throughput. */
export function pricedProfile(profile: JobProfile, gpuTypes: readonly string[], price: number): JobProfile {
  const seats = gpuTypes.map((gpuType) => ({ gpuType, gpus: 1 / gpuTypes.length }))
  const worth = (cpus: number, memoryGb: number) =>
    Math.max(...powerWays(profile, seats, cpus, memoryGb).map(({ throughput, watts }) => throughput - price * watts))
  return {
    ...profile,
    throughput: profile.cpusPerGpu.map((cpus) => profile.memoryGbPerGpu.map((memoryGb) => worth(cpus, memoryGb))),
  }
}
