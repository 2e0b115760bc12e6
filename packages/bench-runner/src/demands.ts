import { equalTenants } from '@pctodl/baselines'
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { lowestFeasibleCap } from '@pctodl/greedy-partition'
import type { PerfModel } from '@pctodl/perf-model'
import { modelOf } from '@pctodl/perf-model/node'
import { findGpuSpec, InfeasibleCapError, PctodlError, smClocksAt, snapDown } from '@pctodl/platform'
import type { PolicyOptions } from '@pctodl/run/policy'
import { commonLoadPredictor, type LoadMix } from '@pctodl/scheduler'
import { oncePerCall } from './once-per-call.js'
import { type BenchTask, capsWOf, isServed, networksOf, type Task } from './tasks.js'

/**
 * Refuses caps that no configuration of the board can hold, before anything runs.
 *
 * @throws InfeasibleCapError naming the lowest cap that can be held; PctodlError `INFEASIBLE_LATENCY` if the latency
 *   objective cannot be met under any cap
 */
export function assertCapsFeasible(tasks: readonly Task[], parametersFolder?: string): void {
  for (const task of tasks) {
    if (isServed(task)) continue
    const { predictor, models } = servedBy(task, parametersFolder)
    const limited = models.some(({ latencySloMs }) => latencySloMs !== undefined)
    const lowest = lowestFeasibleCap(predictor, { models, ...(limited ? { latencyPercentile: 'p99' } : {}) })
    const where = `${task.model} on ${findGpuSpec(task.board).name} (task ${task.id})`
    if (lowest === null && task.latencyMs !== undefined) {
      throw new PctodlError(
        'INFEASIBLE_LATENCY',
        `no configuration keeps ${task.latencyMs} ms for ${where}, under any cap`,
      )
    }
    const capW = Math.min(...capsWOf(task))
    if (lowest !== null && capW < lowest) throw new InfeasibleCapError(capW, lowest, where)
  }
}

/**
 * Returns the predictor of a board: the shipped one, or one from a folder of parameters.
 *
 * @throws UnknownNameError for a board without parameters; ParameterFileError for a file that cannot be used
 */
export const predictorOf: (board: string, parametersFolder: string | undefined) => PerfModel = oncePerCall(modelOf)

/** Plans are cached by predictor, so the same mix must get the same predictor. */
const mixPredictor = oncePerCall((board: string, folder: string | undefined, mix: LoadMix) =>
  commonLoadPredictor(predictorOf(board, folder), mix),
)

/**
 * Returns the networks of a task with their latency objectives, and the predictor of its score: samples/s or, for a
 * mix, the load that all networks serve together.
 */
export function servedBy(task: BenchTask, parametersFolder?: string): Pick<PolicyOptions, 'predictor' | 'models'> {
  const { board, mix } = task
  const objectives = latencyObjectives(task)
  return {
    predictor: mix ? mixPredictor(board, parametersFolder, mix) : predictorOf(board, parametersFolder),
    models: networksOf(task).map((model) => ({ model, ...(objectives && { latencySloMs: objectives[model]! }) })),
  }
}

/**
 * Returns the latency of a batch of 32 if the network has the whole board, at default clocks and limit, ms. It always
 * comes from the simulated board, so that a task is the same everywhere.
 */
export function soloLatencyMs(board: string, model: string): number {
  const spec = findGpuSpec(board)
  const memClockMhz = Math.max(...spec.performanceMemClocksMhz)
  const smClockMhz = snapDown(smClocksAt(spec, memClockMhz)!, spec.boostClockMhz)!
  const tenants = [{ model, mpsPercent: 100, batchSize: 32 }]
  const { batchMs } = simulateSteadyState(board)({ tenants, smClockMhz, memClockMhz }).tenants[0]!
  return Math.round(10 * batchMs) / 10
}

/** Factor from mean latency to p99 that allows for differences between batches and between boards. */
const P99_OVER_MEAN = 1.05

/**
 * Returns the p99 of equal tenants with batches of 32 at the highest clock that holds a cap, ms. It comes from the
 * simulated board, at the memory clock with the highest throughput.
 */
const equalSplitP99Ms = oncePerCall((board: string, model: string, powerCapW: number): number => {
  const spec = findGpuSpec(board)
  const tenants = equalTenants(spec, [model])
  const simulate = simulateSteadyState(board)
  const states = spec.performanceMemClocksMhz.flatMap((memClockMhz) =>
    smClocksAt(spec, memClockMhz)!.map((smClockMhz) => simulate({ tenants, smClockMhz, memClockMhz })),
  )
  const holding = states.filter(({ powerW }) => powerW <= powerCapW)
  const slowest = states.reduce((a, b) => (b.powerW < a.powerW ? b : a))
  const best = holding.reduce((a, b) => (b.throughput > a.throughput ? b : a), holding[0] ?? slowest)
  return Math.round(10 * P99_OVER_MEAN * Math.max(...best.tenants.map(({ batchMs }) => batchMs))) / 10
})

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
