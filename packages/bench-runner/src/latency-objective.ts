import { simulateSteadyState } from '@pctodl/gpu-sim'
import { findGpuSpec, smClocksAt, snapDown } from '@pctodl/platform'
import { type BenchTask, networksOf } from './tasks.js'

/** Of the tenant whose latency objectives are multiples of: the batch of the set-up that takes no thought. */
const SOLO_BATCH = 32

const known = new Map<string, number>()

/**
 * Latency of a batch of 32 of a network that has the whole board for itself, at the board's own clocks and under its default
 * limit, ms, to a tenth: what whoever promises a latency has measured before. Of the simulated board, also where the task then
 * runs on a real one, so that a task is the same everywhere.
 */
export function soloLatencyMs(board: string, model: string): number {
  const key = `${board} ${model}`
  let latencyMs = known.get(key)
  if (latencyMs === undefined) {
    const spec = findGpuSpec(board)
    const memClockMhz = Math.max(...spec.performanceMemClocksMhz)
    const smClockMhz = snapDown(smClocksAt(spec, memClockMhz)!, spec.boostClockMhz)!
    const tenants = [{ model, mpsPercent: 100, batchSize: SOLO_BATCH }]
    const { batchMs } = simulateSteadyState(board)({ tenants, smClockMhz, memClockMhz }).tenants[0]!
    latencyMs = Math.round(10 * batchMs) / 10
    known.set(key, latencyMs)
  }
  return latencyMs
}

/** What 99 of 100 batches of each network of a task are to keep, ms; undefined where throughput is all that counts. */
export function latencyObjectives(task: BenchTask): Readonly<Record<string, number>> | undefined {
  const { board, latencyFactor, latencyMs } = task
  if (latencyFactor === undefined && latencyMs === undefined) return undefined
  return Object.fromEntries(
    networksOf(task).map((model) => [
      model,
      latencyMs ?? Math.round(10 * latencyFactor! * soloLatencyMs(board, model)) / 10,
    ]),
  )
}
