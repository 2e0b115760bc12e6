import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { findMigBoard, VirtualClock } from '@pctodl/platform'
import { sustainedClock } from '../scripts/measure-slice.js'
import type { FleetBoard } from '../src/fleet/place-fleet.js'
import type { PlannedGpu } from '../src/index.js'

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
export function runBoard(
  board: string,
  { segments }: Pick<PlannedGpu, 'segments'>,
  limitW?: number,
): Promise<BoardRun> {
  const { profileNames } = findMigBoard(board)
  const named = segments.map((segment) => ({ ...segment, profile: profileNames[segment.sizeGpcs] }))
  return runInstances(board, sustainedClock(board), named, limitW)
}

/** The same for a board of a fleet, at its own clock; models that share an instance run together in it. */
export function runFleetBoard({ gpu, smClockMhz, segments }: FleetBoard): Promise<BoardRun> {
  return runInstances(gpu, smClockMhz ?? sustainedClock(gpu), segments)
}

/** Watts of a board with its clock locked there and nothing running. */
export async function idlePowerW(board: string, smClockMhz: number = sustainedClock(board)): Promise<number> {
  return (await runInstances(board, smClockMhz, [])).powerW
}

type Running = Pick<
  FleetBoard['segments'][number],
  'profile' | 'start' | 'model' | 'batchSize' | 'processes' | 'throughput'
>

async function runInstances(
  board: string,
  smClockMhz: number,
  segments: readonly Running[],
  limitW?: number,
): Promise<BoardRun> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock, firmwareReads: 'truth' })
  const lease = await gpu.acquire()
  try {
    await lease.lockSmClock(smClockMhz)
    if (limitW !== undefined) await lease.setPowerLimit(limitW)
    const running: { pool: SimulatedTenants; from: number; segment: Running }[] = []
    for (const start of new Set(segments.map((segment) => segment.start))) {
      const own = segments.filter((segment) => segment.start === start)
      const instance = gpu.createMigInstance(own[0]!.profile, { start })
      const pool = new SimulatedTenants(gpu, { instance, oversubscribe: own.length > 1 })
      await pool.apply(
        own.flatMap(({ model, batchSize, processes }) => {
          const mpsPercent = own.length > 1 ? 100 : 100 / processes
          return Array.from({ length: processes }, () => ({ model, mpsPercent, batchSize }))
        }),
      )
      let from = 0
      for (const segment of own) {
        running.push({ pool, from, segment })
        from += segment.processes
      }
    }
    await clock.sleep(SETTLE_MS)
    const samples = () =>
      running.map(({ pool, from, segment }) =>
        pool
          .counters()
          .slice(from, from + segment.processes)
          .reduce((sum, counters) => sum + counters.samples, 0),
      )
    const before = samples()
    const { energyJ } = gpu.truth()
    await clock.sleep(WINDOW_MS)
    const rates = samples().map((after, i) => (1000 * (after - before[i]!)) / WINDOW_MS)
    return {
      delivered: Math.min(1, ...rates.map((rate, i) => rate / running[i]!.segment.throughput)),
      plannedPerS: segments.reduce((sum, { throughput }) => sum + throughput, 0),
      metPerS: rates.reduce((sum, rate) => sum + rate, 0),
      powerW: (1000 * (gpu.truth().energyJ - energyJ)) / WINDOW_MS,
    }
  } finally {
    await lease.release()
  }
}
