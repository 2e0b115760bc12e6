import { equalTenants } from '@pctodl/baselines'
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { findGpuSpec, smClocksAt, snapDown } from '@pctodl/platform'
import { type BenchTask, capsWOf, networksOf } from './tasks.js'

/** Batch size of the tenant whose latency defines the objectives. */
const SOLO_BATCH = 32

/**
 * Returns the latency of a batch of 32 if the network has the whole board, at default clocks and limit, rounded to 0.1
 * ms. An operator would measure this before promising a latency. It always comes from the simulated board, so that a
 * task is the same everywhere.
 */
export function soloLatencyMs(board: string, model: string): number {
  const spec = findGpuSpec(board)
  const memClockMhz = Math.max(...spec.performanceMemClocksMhz)
  const smClockMhz = snapDown(smClocksAt(spec, memClockMhz)!, spec.boostClockMhz)!
  const tenants = [{ model, mpsPercent: 100, batchSize: SOLO_BATCH }]
  const { batchMs } = simulateSteadyState(board)({ tenants, smClockMhz, memClockMhz }).tenants[0]!
  return Math.round(10 * batchMs) / 10
}

/** Factor from mean latency to p99 that allows for differences between batches and between boards. */
const P99_OVER_MEAN = 1.05

/**
 * Returns the p99 of equal tenants with batches of 32 at the highest clock that holds a cap, rounded to 0.1 ms. This is
 * the latency of an untuned configuration. It comes from the simulated board, at the memory clock with the highest
 * throughput.
 */
function equalSplitP99Ms(board: string, model: string, powerCapW: number): number {
  const spec = findGpuSpec(board)
  const tenants = equalTenants(spec, [model])
  const simulate = simulateSteadyState(board)
  const states = spec.performanceMemClocksMhz.flatMap((memClockMhz) =>
    smClocksAt(spec, memClockMhz)!.map((smClockMhz) => simulate({ tenants, smClockMhz, memClockMhz })),
  )
  const keeping = states.filter(({ powerW }) => powerW <= powerCapW)
  const slowest = states.reduce((a, b) => (b.powerW < a.powerW ? b : a))
  const best = keeping.reduce((a, b) => (b.throughput > a.throughput ? b : a), keeping[0] ?? slowest)
  return Math.round(10 * P99_OVER_MEAN * Math.max(...best.tenants.map(({ batchMs }) => batchMs))) / 10
}

/** Returns the p99 objective of each network of a task, ms; undefined if the task has none. */
export function latencyObjectives(task: BenchTask): Readonly<Record<string, number>> | undefined {
  const { board, latencyFactor, latencyMs, latencyOfEqualSplit } = task
  if (latencyFactor === undefined && latencyMs === undefined && !latencyOfEqualSplit) return undefined
  const objective = (model: string) =>
    latencyMs ??
    (latencyOfEqualSplit
      ? equalSplitP99Ms(board, model, capsWOf(task)[0]!)
      : Math.round(10 * latencyFactor! * soloLatencyMs(board, model)) / 10)
  return Object.fromEntries(networksOf(task).map((model) => [model, objective(model)]))
}
