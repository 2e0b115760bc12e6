import { type MigInstance, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import {
  findGpuSpec,
  findMigBoard,
  PctodlError,
  type SegmentSize,
  type TenantCounters,
  VirtualClock,
} from '@pctodl/platform'
import type { ProfilePoint } from '../src/index.js'

const WINDOW_MS = 1000
const MIN_BATCHES = 4

/**
 * Measure a point on a simulated board, in virtual time: the SM clock locked, by default at the base clock, the rest of the board busy.
 */
export async function measureSlice(
  board: string,
  model: string,
  sizeGpcs: SegmentSize,
  batchSize: number,
  processes: number,
  smClockMhz?: number,
): Promise<ProfilePoint> {
  const at = smClockMhz === undefined ? {} : { smClockMhz }
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock })
  const lease = await gpu.acquire()
  try {
    await lease.lockSmClock(smClockMhz ?? sustainedClock(board))
    const instance = gpu.createMigInstance(findMigBoard(board).profileNames[sizeGpcs])
    await fillWithNeighbours(board, gpu)
    const pool = new SimulatedTenants(gpu, { instance })
    const withoutW = await meanPowerW(gpu, clock)
    const mpsPercent = 100 / processes
    await pool.apply(Array.from({ length: processes }, () => ({ model, mpsPercent, batchSize })))
    const before = pool.counters()
    let after = before
    let powerW = 0
    do {
      powerW = await meanPowerW(gpu, clock)
      after = pool.counters()
      if (after.some(({ state }) => state === 'failed')) {
        return { sizeGpcs, batchSize, processes, processThroughput: 0, latencyMs: 0, ...at }
      }
    } while (after.some(({ batches }, i) => batches - before[i]!.batches < MIN_BATCHES))
    const mean = (of: (at: TenantCounters, since: TenantCounters) => number) =>
      after.reduce((sum, counters, i) => sum + of(counters, before[i]!), 0) / processes
    return {
      sizeGpcs,
      batchSize,
      processes,
      // From completed batch to completed batch, so that no window cuts a batch in two.
      processThroughput: mean(
        (at, since) => (1000 * (at.samples - since.samples)) / (at.lastCompletionMs - since.lastCompletionMs),
      ),
      latencyMs: mean((at, since) => (at.latencySumMs - since.latencySumMs) / (at.batches - since.batches)),
      powerW: Number((powerW - withoutW).toPrecision(4)),
      ...at,
    }
  } finally {
    await lease.release()
  }
}

/** True watts of the board over the next window. */
export async function meanPowerW(
  gpu: SimulatedGpu,
  clock: VirtualClock,
  windowMs: number = WINDOW_MS,
): Promise<number> {
  const { energyJ } = gpu.truth()
  await clock.sleep(windowMs)
  return (1000 * (gpu.truth().energyJ - energyJ)) / windowMs
}

/** A small network on every slice that is left. */
export async function fillWithNeighbours(board: string, gpu: SimulatedGpu): Promise<void> {
  const profile = findMigBoard(board).profileNames[1]
  for (;;) {
    let instance: MigInstance
    try {
      instance = gpu.createMigInstance(profile)
    } catch (error) {
      if (error instanceof PctodlError && error.code === 'NO_ROOM') return
      throw error
    }
    await new SimulatedTenants(gpu, { instance }).apply([{ model: 'mobilenet_v2', mpsPercent: 100, batchSize: 8 }])
  }
}

/** The highest supported clock that is not above the board's base clock. */
export function sustainedClock(board: string): number {
  const { clockStates, baseClockMhz } = findGpuSpec(board)
  const supported = clockStates.at(-1)!.smClocksMhz
  return supported.filter((clock) => clock <= baseClockMhz).at(-1)!
}
