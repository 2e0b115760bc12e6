import { SeededRandom } from '@pctodl/numerics'
import type { Clock, Gpu, Telemetry } from '@pctodl/platform'

export interface SensorTrouble {
  /** Delay of the readings, ms. */
  readonly lagMs?: number
  /** Whether all telemetry is delayed (clocks, energy, utilization) instead of the power readings only. */
  readonly lateAll?: boolean
  /** Share of the readings that are lost, 0..1. */
  readonly lostShare?: number
}

/** A board whose readings are delayed or lost without notice. Setters and processes are not affected. */
export function misledGpu(
  gpu: Gpu,
  clock: Clock,
  { lagMs = 0, lateAll = false, lostShare = 0 }: SensorTrouble,
  seed: number,
): Gpu {
  const random = new SeededRandom(seed)
  const waiting: Telemetry[] = []
  let late: Telemetry | undefined
  const unknown = { powerAverageW: null, powerInstantW: null }
  return {
    spec: gpu.spec,
    info: () => gpu.info(),
    acquire: () => gpu.acquire(),
    async sample() {
      const reading = await gpu.sample()
      waiting.push(reading)
      while (waiting[0] && waiting[0].timeMs <= clock.now() - lagMs) late = waiting.shift()
      const lost = random.uniform() < lostShare
      const shown = late ?? { ...reading, ...unknown, energyJ: null }
      const { powerAverageW, powerInstantW } = lost ? unknown : shown
      return { ...(lateAll ? shown : reading), timeMs: reading.timeMs, powerAverageW, powerInstantW }
    },
  }
}
