import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { VirtualClock } from '@pctodl/platform'
import { sustainedClock } from '../scripts/measure-slice.js'
import { findMigBoard, type PlannedGpu } from '../src/index.js'

/** What a planned board does while every process on it runs. */
export interface BoardRun {
  /** Least share of its planned throughput that a segment reaches. */
  readonly delivered: number
  /** Items/s of all segments together, planned and met. */
  readonly plannedPerS: number
  readonly metPerS: number
  /** True watts over a minute. */
  readonly powerW: number
}

const SETTLE_MS = 60_000
const WINDOW_MS = 60_000

/** Run a board of a plan in virtual time under a power limit, its clock locked where the example profiles were measured. */
export async function runBoard(
  board: string,
  { segments }: Pick<PlannedGpu, 'segments'>,
  limitW?: number,
): Promise<BoardRun> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock, firmwareReads: 'truth' })
  const lease = await gpu.acquire()
  try {
    await lease.lockSmClock(sustainedClock(board))
    if (limitW !== undefined) await lease.setPowerLimit(limitW)
    const pools: SimulatedTenants[] = []
    for (const { sizeGpcs, start, model, batchSize, processes } of segments) {
      const instance = gpu.createMigInstance(findMigBoard(board).profileNames[sizeGpcs], { start })
      const pool = new SimulatedTenants(gpu, { instance })
      await pool.apply(Array.from({ length: processes }, () => ({ model, mpsPercent: 100 / processes, batchSize })))
      pools.push(pool)
    }
    await clock.sleep(SETTLE_MS)
    const samples = () => pools.map((pool) => pool.counters().reduce((sum, counters) => sum + counters.samples, 0))
    const before = samples()
    const { energyJ } = gpu.truth()
    await clock.sleep(WINDOW_MS)
    const rates = samples().map((after, i) => (1000 * (after - before[i]!)) / WINDOW_MS)
    return {
      delivered: Math.min(1, ...rates.map((rate, i) => rate / segments[i]!.throughput)),
      plannedPerS: segments.reduce((sum, { throughput }) => sum + throughput, 0),
      metPerS: rates.reduce((sum, rate) => sum + rate, 0),
      powerW: (1000 * (gpu.truth().energyJ - energyJ)) / WINDOW_MS,
    }
  } finally {
    await lease.release()
  }
}

/** Watts of a board with its clock locked there and nothing running. */
export async function idlePowerW(board: string): Promise<number> {
  return (await runBoard(board, { segments: [] })).powerW
}
