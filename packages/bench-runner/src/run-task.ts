import { BatchLatencies, firstSteadyWindow, type RecordedWindow, type RunRecord } from '@pctodl/report'
import { WINDOW_MS } from '@pctodl/run'
import { commonLoad, type LoadMix, type WindowObservation } from '@pctodl/scheduler'
import { type AlgorithmName, createPolicy, type PolicyOptions } from './algorithms.js'
import { latencyObjectives } from './latency-objective.js'
import { type OpenBoard, openBoard } from './open-board.js'
import { recordRun } from './record-run.js'
import { type BenchTask, capsOf } from './tasks.js'

export interface RunTaskOptions extends PolicyOptions {
  readonly iterations: number
  /** Seed of the simulated board's sensor error and noise; the same for every algorithm. */
  readonly seed: number
  readonly signal?: AbortSignal
}

/** Run one algorithm on one task on the simulated board, from a cold start. */
export async function runTask(task: BenchTask, algorithm: AlgorithmName, options: RunTaskOptions): Promise<RunRecord> {
  const board = await openBoard({ ...options, task })
  try {
    return await runTaskOn(board, task, algorithm, options)
  } finally {
    await board.close()
  }
}

/** The same on a board that is already open; the board stays open. */
export async function runTaskOn(
  { gpu, pool, clock, trueEnergyJ }: OpenBoard,
  task: BenchTask,
  algorithm: AlgorithmName,
  options: Omit<RunTaskOptions, 'seed'>,
): Promise<RunRecord> {
  const { id: taskId, model, dataset, mix, set } = task
  const policy = createPolicy(algorithm, task, options)
  const iterations = task.fixedIterations ?? options.iterations
  const steadyFromMs = firstSteadyWindow(iterations) * WINDOW_MS
  const latencies = new BatchLatencies()
  const record = await recordRun(
    {
      ...{ gpu, pool, clock, policy, iterations },
      caps: capsOf(task, WINDOW_MS),
      windowMs: WINDOW_MS,
      ...(options.signal ? { signal: options.signal } : {}),
    },
    { algorithm, taskId, model, dataset },
    trueEnergyJ,
    (_, beforeMs) => latencies.add(pool.counters(), beforeMs >= steadyFromMs),
  )
  const windows = mix ? record.windows.map((window) => servedTogether(window as Observed, mix)) : record.windows
  const latency = latencies.summary(latencyObjectives(task))
  const { trueW, ...power } = record.power
  return {
    ...record,
    board: task.board,
    ...(set === undefined ? {} : { set }),
    windows,
    power: { ...power, ...(trueW ? { trueW: trueW.map(toMilliwatt) } : {}) },
    samples: windows.reduce((sum, window) => sum + window.samples, 0),
    ...(latency.length === 0 ? {} : { latency }),
    notes: policy.notes ?? [],
  }
}

type Observed = RecordedWindow & Pick<WindowObservation, 'tenants'>

/** In a mix only the throughput in the requested proportions counts; a surplus of one network does not. */
function servedTogether(window: Observed, mix: LoadMix): RecordedWindow {
  const throughput = commonLoad(
    window.tenants.map(({ tenant }) => tenant),
    (i) => window.tenants[i]!.throughput ?? 0,
    mix,
  )
  return { ...window, throughput, samples: (throughput * (window.endMs - window.startMs)) / 1000 }
}

/** Further digits would fill the record with noise. */
function toMilliwatt(powerW: number): number {
  return Math.round(powerW * 1000) / 1000
}
