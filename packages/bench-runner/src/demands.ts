import { equalTenants } from '@pctodl/baselines'
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { lowestFeasibleCap } from '@pctodl/greedy-partition'
import type { PerfModel, Predictor } from '@pctodl/perf-model'
import { modelOf } from '@pctodl/perf-model/node'
import { findGpuSpec, InfeasibleCapError, PctodlError, smClocksAt, snapDown } from '@pctodl/platform'
import type { PolicyOptions } from '@pctodl/run/policy'
import { commonLoadPredictor } from '@pctodl/scheduler'
import { type BenchTask, capsWOf, isServed, networksOf, type Task } from './tasks.js'

const loaded = new Map<string, PerfModel>()

/**
 * The predictor of a board, loaded once: the shipped one, or one from a folder of parameters.
 *
 * @throws UnknownNameError for a board without parameters; ParameterFileError for a file that cannot be used
 */
export function predictorOf(board: string, parametersFolder?: string): PerfModel {
  const key = `${board}\n${parametersFolder ?? ''}`
  let predictor = loaded.get(key)
  if (!predictor) {
    predictor = modelOf(board, parametersFolder)
    loaded.set(key, predictor)
  }
  return predictor
}

const mixed = new Map<string, Predictor>()

/**
 * Returns the networks of a task with their latency objectives, and the predictor of its score: samples/s or, for a
 * mix, the load that all networks serve together.
 */
export function servedBy(task: BenchTask, parametersFolder?: string): Pick<PolicyOptions, 'predictor' | 'models'> {
  const ofBoard = predictorOf(task.board, parametersFolder)
  const objectives = latencyObjectives(task)
  // Plans are cached by predictor, so the same mix must get the same one.
  const key = JSON.stringify([task.board, parametersFolder, task.mix])
  const predictor = task.mix ? (mixed.get(key) ?? commonLoadPredictor(ofBoard, task.mix)) : ofBoard
  mixed.set(key, predictor)
  return {
    predictor,
    models: networksOf(task).map((model) => ({ model, ...(objectives && { latencySloMs: objectives[model]! }) })),
  }
}

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

/** Objectives that are known, because a search takes 50 ms and every run asks for its own. */
const equalSplits = new Map<string, number>()

/**
 * Returns the p99 of equal tenants with batches of 32 at the highest clock that holds a cap, rounded to 0.1 ms. This is
 * the latency of an untuned configuration. It comes from the simulated board, at the memory clock with the highest
 * throughput.
 */
function equalSplitP99Ms(board: string, model: string, powerCapW: number): number {
  const key = `${board} ${model} ${powerCapW}`
  const known = equalSplits.get(key)
  if (known !== undefined) return known
  const spec = findGpuSpec(board)
  const tenants = equalTenants(spec, [model])
  const simulate = simulateSteadyState(board)
  const states = spec.performanceMemClocksMhz.flatMap((memClockMhz) =>
    smClocksAt(spec, memClockMhz)!.map((smClockMhz) => simulate({ tenants, smClockMhz, memClockMhz })),
  )
  const keeping = states.filter(({ powerW }) => powerW <= powerCapW)
  const slowest = states.reduce((a, b) => (b.powerW < a.powerW ? b : a))
  const best = keeping.reduce((a, b) => (b.throughput > a.throughput ? b : a), keeping[0] ?? slowest)
  const p99Ms = Math.round(10 * P99_OVER_MEAN * Math.max(...best.tenants.map(({ batchMs }) => batchMs))) / 10
  equalSplits.set(key, p99Ms)
  return p99Ms
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

/**
 * Refuse caps that no configuration of the board can meet, before anything runs.
 *
 * @throws InfeasibleCapError naming the lowest cap that can be kept; PctodlError `INFEASIBLE_LATENCY` if the latency
 *   objective cannot be met under any cap
 */
export function assertCapsFeasible(tasks: readonly Task[], parametersFolder?: string): void {
  for (const task of tasks) {
    if (isServed(task)) continue
    const { predictor, models } = servedBy(task, parametersFolder)
    const limited = models.some(({ latencySloMs }) => latencySloMs !== undefined)
    const lowest = lowestFeasibleCap(predictor, { models, ...(limited ? { latencyPercentile: 'p99' } : {}) })
    if (lowest === null && task.latencyMs !== undefined) {
      throw new PctodlError(
        'INFEASIBLE_LATENCY',
        `no configuration of ${findGpuSpec(task.board).name} keeps ${task.latencyMs} ms for ${task.model} (task ${task.id}), under any cap`,
      )
    }
    for (const capW of capsWOf(task)) {
      if (lowest !== null && capW < lowest) {
        throw new InfeasibleCapError(capW, lowest, `${task.model} on ${findGpuSpec(task.board).name} (task ${task.id})`)
      }
    }
  }
}
