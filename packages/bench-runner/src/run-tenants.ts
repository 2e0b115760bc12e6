import type { Backend } from '@pctodl/backend'
import { SimulatedGpu } from '@pctodl/gpu-sim'
import { BatchLatencies, firstSteadyWindow, type RecordedWindow, type RunRecord } from '@pctodl/report'
import { RunRecorder } from '@pctodl/report/evaluate'
import { WINDOW_MS } from '@pctodl/run'
import { commonLoad, type LoadMix, runPolicy, type WindowObservation } from '@pctodl/scheduler'
import { createPolicy } from './algorithms.js'
import type { Cell } from './cell.js'
import { latencyObjectives } from './demands.js'
import { type BenchTask, capsOf } from './tasks.js'

/** Run a cell whose tenants run batch after batch, on its open board. The board stays open. */
export async function runTenants(
  { gpu, tenants: pool, clock }: Backend,
  cell: Cell & { readonly task: BenchTask },
  signal?: AbortSignal,
): Promise<RunRecord> {
  const { task, algorithm } = cell
  const { id: taskId, model, dataset, mix, set } = task
  const policy = createPolicy(algorithm, task, cell)
  const iterations = task.fixedIterations ?? cell.iterations
  const steadyFromMs = firstSteadyWindow(iterations) * WINDOW_MS
  const latencies = new BatchLatencies()
  const recorder = new RunRecorder(gpu instanceof SimulatedGpu ? () => gpu.truth().meteredEnergyJ : undefined)
  let beforeMs = 0
  await runPolicy({
    ...{ gpu, pool, clock, policy, iterations },
    caps: capsOf(task, WINDOW_MS),
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

/**
 * In a mix, only the throughput in the requested proportions counts; additional throughput of one network does not.
 */
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
