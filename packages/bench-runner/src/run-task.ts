import { runPolicy, type WindowObservation } from '@pctodl/scheduler'
import { type AlgorithmName, createPolicy } from './algorithms.js'
import { type OpenBoard, openBoard } from './open-board.js'
import type { RunRecord } from './run-record.js'
import { type BenchTask, capsOf } from './tasks.js'

/** Length of one iteration, ms. */
export const WINDOW_MS = 5000

export interface RunTaskOptions {
  readonly iterations: number
  /** Decides the simulated board's sensor error and noise; the same for every algorithm, so that all meet the same board. */
  readonly seed: number
  /** Plans stay this far below the cap, W. Default 0. */
  readonly powerMarginW?: number
  /** Let pctodl keep looking for better tenants while it runs. Default false. */
  readonly shadow?: boolean
  /** Predictor parameters. Default: the shipped ones. */
  readonly parametersFolder?: string
  readonly signal?: AbortSignal
}

/** Run one algorithm on one task, on the simulated board, from a cold start. */
export async function runTask(task: BenchTask, algorithm: AlgorithmName, options: RunTaskOptions): Promise<RunRecord> {
  const board = await openBoard({ task, seed: options.seed })
  try {
    return await runTaskOn(board, task, algorithm, options)
  } finally {
    await board.close()
  }
}

/** The same on a board that is already open; leaves it open. */
export async function runTaskOn(
  { gpu, pool, clock, trueEnergyJ }: OpenBoard,
  task: BenchTask,
  algorithm: AlgorithmName,
  options: Omit<RunTaskOptions, 'seed'>,
): Promise<RunRecord> {
  const policy = createPolicy(algorithm, task, options)
  const windows: (WindowObservation & { readonly startedAt: Date })[] = []
  const timeMs: number[] = []
  const powerCapW: number[] = []
  const sensorW: (number | null)[] = []
  const smClockMhz: (number | null)[] = []
  const trueW: number[] = []
  let lastEnergyJ = trueEnergyJ?.() ?? 0
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
      timeMs.push(sampleMs)
      powerCapW.push(capW)
      sensorW.push(telemetry.powerAverageW)
      smClockMhz.push(telemetry.smClockMhz)
      if (trueEnergyJ) {
        const energyJ = trueEnergyJ()
        trueW.push(toMilliwatt(((energyJ - lastEnergyJ) / (sampleMs - lastMs)) * 1000))
        lastEnergyJ = energyJ
      }
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
    power: { timeMs, powerCapW, sensorW, smClockMhz, ...(trueEnergyJ ? { trueW } : {}) },
    samples: windows.reduce((sum, window) => sum + window.samples, 0),
    notes: policy.notes ?? [],
  }
}

/** More digits would fill the record of a run with noise. */
function toMilliwatt(powerW: number): number {
  return Math.round(powerW * 1000) / 1000
}
