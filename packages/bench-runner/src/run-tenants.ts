import type { Backend } from '@pctodl/backend'
import { SimulatedGpu } from '@pctodl/gpu-sim'
import { given } from '@pctodl/platform'
import { BatchLatencies, firstSteadyWindow, type RecordedWindow, type RunRecord } from '@pctodl/report'
import { RunRecorder } from '@pctodl/report/evaluate'
import { WINDOW_MS } from '@pctodl/run'
import { runPolicy, type WindowObservation } from '@pctodl/scheduler'
import { createPolicy, scoreOf } from './algorithms.js'
import type { Cell } from './cell.js'
import { latencyObjectives } from './demands.js'
import { type BenchTask, capsOf } from './tasks.js'

/** Runs a cell whose tenants run batch after batch, on its open board. The board stays open. */
export async function runTenants(
  { gpu, tenants: pool, clock }: Backend,
  cell: Cell & { readonly task: BenchTask },
  signal?: AbortSignal,
): Promise<RunRecord> {
  const { task, algorithm } = cell
  const { id: taskId, board, model, dataset, set } = task
  const policy = createPolicy(algorithm, task, cell)
  const iterations = task.fixedIterations ?? cell.iterations
  const steadyFromMs = firstSteadyWindow(iterations) * WINDOW_MS
  const latencies = new BatchLatencies()
  const recorder = new RunRecorder(gpu instanceof SimulatedGpu ? () => gpu.truth().meteredEnergyJ : undefined)
  let beforeMs = 0
  await runPolicy({
    ...{ gpu, pool, clock, policy, iterations },
    caps: capsOf(task),
    windowMs: WINDOW_MS,
    ...(signal ? { signal } : {}),
    onEvent: (event) => {
      recorder.add(event)
      if (event.type !== 'sample') return
      latencies.add(pool.counters(), beforeMs >= steadyFromMs)
      beforeMs = event.timeMs
    },
  })
  const record = recorder.record({ algorithm, taskId, model, dataset })
  const windows = task.mix ? record.windows.map((window) => scored(window as Observed, task)) : record.windows
  const latency = latencies.summary(latencyObjectives(task))
  const { trueW, ...power } = record.power
  return {
    ...record,
    board,
    ...given({ set }),
    windows,
    // Digits below a milliwatt would fill the record with noise.
    power: { ...power, ...(trueW ? { trueW: trueW.map((powerW) => Math.round(powerW * 1000) / 1000) } : {}) },
    samples: windows.reduce((sum, window) => sum + window.samples, 0),
    ...(latency.length === 0 ? {} : { latency }),
    notes: policy.notes ?? [],
  }
}

type Observed = RecordedWindow & Pick<WindowObservation, 'tenants'>

/** A window of a mix, with its score as its throughput. */
function scored(window: Observed, task: BenchTask): RecordedWindow {
  const throughput = scoreOf(task, window)
  return { ...window, throughput, samples: (throughput * (window.endMs - window.startMs)) / 1000 }
}
