import { BatchLatencies, firstSteadyWindow, type RunRecord } from '@pctodl/report'
import { WINDOW_MS } from '@pctodl/run'
import { commonLoad, type LoadMix, runPolicy, type WindowObservation } from '@pctodl/scheduler'
import { type AlgorithmName, createPolicy } from './algorithms.js'
import { latencyObjectives } from './latency-objective.js'
import { type OpenBoard, openBoard } from './open-board.js'
import { Restarts } from './restarts.js'
import { type BenchTask, capsOf } from './tasks.js'

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
  /** Board of the ensemble. Default: the shipped board. */
  readonly variant?: number
  readonly signal?: AbortSignal
}

/** Run one algorithm on one task, on the simulated board, from a cold start. */
export async function runTask(task: BenchTask, algorithm: AlgorithmName, options: RunTaskOptions): Promise<RunRecord> {
  const { seed, variant } = options
  const board = await openBoard({ task, seed, ...(variant === undefined ? {} : { variant }) })
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
  const iterations = task.fixedIterations ?? options.iterations
  const steadyFromMs = firstSteadyWindow(iterations) * WINDOW_MS
  const latencies = new BatchLatencies()
  const restarts = new Restarts()
  await runPolicy({
    gpu,
    pool,
    clock,
    policy,
    caps: capsOf(task, WINDOW_MS),
    iterations,
    windowMs: WINDOW_MS,
    ...(options.signal ? { signal: options.signal } : {}),
    onEvent: (event) => {
      if (event.type === 'sample') restarts.add(event.timeMs, event.reconfiguring)
    },
    onWindow: (window, startedAt) =>
      windows.push({ ...window, ...(task.mix ? servedTogether(window, task.mix) : {}), startedAt }),
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
      latencies.add(pool.counters(), lastMs >= steadyFromMs)
      lastMs = sampleMs
    },
  })
  const latency = latencies.summary(latencyObjectives(task))
  return {
    board: task.board,
    algorithm,
    taskId: task.id,
    model: task.model,
    dataset: task.dataset,
    ...(task.set === undefined ? {} : { set: task.set }),
    durationMs: lastMs,
    windows,
    power: { timeMs, powerCapW, sensorW, smClockMhz, ...(trueEnergyJ ? { trueW } : {}) },
    restartsMs: restarts.beganMs,
    samples: windows.reduce((sum, window) => sum + window.samples, 0),
    ...(latency.length === 0 ? {} : { latency }),
    notes: policy.notes ?? [],
  }
}

/** Of a mix counts what was served of it, in the asked proportions: a surplus of one network is nobody's. */
function servedTogether(window: WindowObservation, mix: LoadMix): Pick<WindowObservation, 'throughput' | 'samples'> {
  const throughput = commonLoad(
    window.tenants.map(({ tenant }) => tenant),
    (i) => window.tenants[i]!.throughput ?? 0,
    mix,
  )
  return { throughput, samples: (throughput * (window.endMs - window.startMs)) / 1000 }
}

/** More digits would fill the record of a run with noise. */
function toMilliwatt(powerW: number): number {
  return Math.round(powerW * 1000) / 1000
}
