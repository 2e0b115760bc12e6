import type { GpuProfile, GpuShare } from './gpu-profile.js'

/** One power limit under which a job may run where it sits. */
export interface LimitWay {
  readonly powerLimitW: number
  readonly iterationsPerS: number
  /** Above idle, of each GPU (or part of one), W. */
  readonly dynamicPowerW: number
}

/** What a job is given as long as it stays where it is, for each of its GPUs; only its power limit may change. */
export interface SeatOption {
  readonly gpuType: string
  readonly sharePercent: GpuShare
  readonly cpus: number
  readonly memoryGb: number
  /** Watts and throughput strictly ascending. */
  readonly ways: readonly LimitWay[]
}

/** Every way to seat a model on a type of GPU, with less CPU and memory first. */
export function seatOptions({ cpusPerGpu, memoryGbPerGpu, points }: GpuProfile, gpuType: string): SeatOption[] {
  const shares = [...new Set(points.filter((point) => point.gpuType === gpuType).map((point) => point.sharePercent))]
  return shares.flatMap((sharePercent) =>
    cpusPerGpu.flatMap((cpus, i) =>
      memoryGbPerGpu.map((memoryGb, j): SeatOption => {
        const ways = points
          .filter((point) => point.gpuType === gpuType && point.sharePercent === sharePercent)
          .map(({ powerLimitW, iterationsPerS, dynamicPowerW }) => ({
            powerLimitW,
            iterationsPerS: iterationsPerS[i]![j]!,
            dynamicPowerW: dynamicPowerW[i]![j]!,
          }))
        return { gpuType, sharePercent, cpus, memoryGb, ways: ascending(ways) }
      }),
    ),
  )
}

/** Without those that another beats or equals in both. */
function ascending(ways: readonly LimitWay[]): LimitWay[] {
  const sorted = [...ways].sort((a, b) => a.dynamicPowerW - b.dynamicPowerW || b.iterationsPerS - a.iterationsPerS)
  let best = 0
  return sorted.filter(({ iterationsPerS }) => {
    if (iterationsPerS <= best) return false
    best = iterationsPerS
    return true
  })
}
