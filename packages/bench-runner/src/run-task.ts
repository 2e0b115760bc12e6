import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { VirtualClock } from '@pctodl/platform'
import { runPolicy, type WindowObservation } from '@pctodl/scheduler'
import { type AlgorithmName, createPolicy } from './algorithms.js'
import type { RunRecord } from './run-record.js'
import { type BenchTask, capsOf } from './tasks.js'

/** Length of one iteration, ms. */
export const WINDOW_MS = 5000

export interface RunTaskOptions {
  readonly iterations: number
  /** Decides the simulated board's sensor error and noise; the same for every algorithm, so that all meet the same board. */
  readonly seed: number
  readonly signal?: AbortSignal
}

/** Run one algorithm on one task, on the simulated board, from a cold start. */
export async function runTask(task: BenchTask, algorithm: AlgorithmName, options: RunTaskOptions): Promise<RunRecord> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(task.board, { clock, seed: options.seed })
  const pool = new SimulatedTenants(gpu)
  const policy = createPolicy(algorithm, task)
  const windows: (WindowObservation & { readonly startedAt: Date })[] = []
  const timeMs: number[] = []
  const powerCapW: number[] = []
  const sensorW: (number | null)[] = []
  const trueW: number[] = []
  let lastEnergyJ = gpu.truth().energyJ
  let lastMs = 0
  await runPolicy({
    gpu,
    pool,
    clock,
    policy,
    caps: capsOf(task, WINDOW_MS),
    iterations: task.fixedIterations ?? options.iterations,
    windowMs: WINDOW_MS,
    ...(options.signal ? { signal: options.signal } : {}),
    onWindow: (window, startedAt) => windows.push({ ...window, startedAt }),
    onSample: (sampleMs, telemetry, capW) => {
      const { energyJ } = gpu.truth()
      timeMs.push(sampleMs)
      powerCapW.push(capW)
      sensorW.push(telemetry.powerAverageW)
      trueW.push(((energyJ - lastEnergyJ) / (sampleMs - lastMs)) * 1000)
      lastEnergyJ = energyJ
      lastMs = sampleMs
    },
  })
  return {
    board: task.board,
    algorithm,
    taskId: task.id,
    model: task.model,
    dataset: task.dataset,
    durationMs: lastMs,
    windows,
    power: { timeMs, powerCapW, sensorW, trueW },
    samples: windows.reduce((sum, window) => sum + window.samples, 0),
    notes: policy.notes ?? [],
  }
}
