import path from 'node:path'
import { asUsage, type Terminal, UsageError, writeFileAtomically } from '@pctodl/command-line'
import { SimulatedGpu } from '@pctodl/gpu-sim'
import { UnknownNameError } from '@pctodl/platform'
import { evaluate, RunRecorder, runPolicy, type WindowObservation } from '@pctodl/scheduler'
import { formatResultsCsv } from '../report/results-csv.js'
import { WINDOW_MS } from '../run-task.js'
import { evaluationText } from './evaluation-text.js'
import { experimentPolicy } from './experiment-policy.js'
import { LiveView } from './live-view.js'
import type { ExperimentCall } from './run-options.js'
import { RecordFile, recordFileOf } from './run-record-file.js'

/** Run one algorithm on one board, show it, log it, and say how well it kept its cap. @returns the exit code */
export async function runExperiment(call: ExperimentCall, { stdout, stderr, signal }: Terminal): Promise<number> {
  const { caps, iterations, logFile, dataset } = call
  const backend = await openBackendOf(call)
  const windows: (WindowObservation & { readonly startedAt: Date })[] = []
  let record: RecordFile | undefined
  try {
    const { gpu } = backend
    const experiment = { ...call.experiment, board: gpu.spec.key }
    const policy = asUsage(() => experimentPolicy(experiment))
    stderr.write(`${policy.name} for ${experiment.model} on ${backend.description}; inputs: ${backend.inputs}\n`)
    // Only reports may know the truth, and only of a simulated board.
    const recorder = new RunRecorder(gpu instanceof SimulatedGpu ? () => gpu.truth().energyJ : undefined)
    const view = new LiveView(stderr, iterations * WINDOW_MS)
    if (logFile !== undefined) record = new RecordFile(recordFileOf(logFile))
    const about = { experiment, backend: backend.description, inputs: backend.inputs, dataset }
    await runPolicy({
      gpu,
      pool: backend.tenants,
      clock: backend.clock,
      policy,
      caps,
      iterations,
      windowMs: WINDOW_MS,
      signal,
      about,
      onWindow: (window, startedAt) => windows.push({ ...window, startedAt }),
      onEvent: (event) => {
        recorder.add(event)
        record?.add(event)
        view.show(event)
      },
    })
    const evaluation = evaluate(recorder.recording())
    const notes = policy.notes ?? []
    stdout.write(
      call.json ? `${JSON.stringify({ about, evaluation, notes }, null, 2)}\n` : evaluationText(evaluation, notes),
    )
    return 0
  } finally {
    try {
      record?.close()
      // Also of a run that was cut short: what was measured stays measured.
      if (logFile !== undefined && windows.length > 0) {
        writeFileAtomically(logFile, formatResultsCsv(windows))
        stderr.write(`Written: ${logFile}, ${recordFileOf(logFile)}\n`)
      }
    } finally {
      await backend.close()
    }
  }
}

async function openBackendOf({ backend, gpu, seed, worker, dataset, datasetPath }: ExperimentCall) {
  // Loaded here, for it takes the driver's library and worker pools with it.
  const { openBackend } = await import('@pctodl/backend')
  const real = {
    ...(worker === undefined ? {} : { worker }),
    ...(datasetPath === undefined ? {} : { dataset: path.join(datasetPath, dataset) }),
  }
  try {
    return await openBackend({ kind: backend, gpu, seed, real })
  } catch (error) {
    if (error instanceof UnknownNameError) throw new UsageError(`--gpu: ${error.message}`)
    throw error
  }
}
