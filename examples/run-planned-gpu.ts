import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import type { PlannedGpu } from '@pctodl/mig-segments'
import { findMigBoard, VirtualClock } from '@pctodl/platform'
import type { BoardAtClock, SegmentAtClock } from './power-budget.js'

const WARM_UP_MS = 60_000
const WINDOW_MS = 10_000

/**
 * Throughput and power of a planned GPU at a locked SM clock, with all of its segments busy. It warms up for a minute
 * and is then measured for ten seconds.
 */
export async function measureBoard(board: string, planned: PlannedGpu, smClockMhz: number): Promise<BoardAtClock> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock })
  const lease = await gpu.acquire()
  const pools: SimulatedTenants[] = []
  try {
    await lease.lockSmClock(smClockMhz)
    const { profileNames } = findMigBoard(board)
    for (const { sizeGpcs, start, model, batchSize, processes } of planned.segments) {
      const pool = new SimulatedTenants(gpu, { instance: gpu.createMigInstance(profileNames[sizeGpcs], { start }) })
      pools.push(pool)
      await pool.apply(Array.from({ length: processes }, () => ({ model, mpsPercent: 100 / processes, batchSize })))
    }
    await clock.sleep(WARM_UP_MS)
    const before = pools.map((pool) => pool.counters())
    const beforeJ = gpu.truth().energyJ
    await clock.sleep(WINDOW_MS)
    const powerW = (gpu.truth().energyJ - beforeJ) / (WINDOW_MS / 1000)
    const segments = planned.segments.map(({ model }, i): SegmentAtClock => {
      let throughput = 0
      let latencyMs = 0
      pools[i]!.counters().forEach((at, j) => {
        const since = before[i]![j]!
        throughput += (1000 * (at.samples - since.samples)) / (at.lastCompletionMs - since.lastCompletionMs)
        latencyMs = Math.max(latencyMs, (at.latencySumMs - since.latencySumMs) / (at.batches - since.batches))
      })
      return { model, throughput, latencyMs }
    })
    return { smClockMhz, powerW, segments }
  } finally {
    for (const pool of pools) await pool.stop()
    await lease.release()
  }
}
