import path from 'node:path'
import { asUsage, jsonText, type Terminal, UsageError, writeFileAtomically } from '@pctodl/command-line'
import { SimulatedGpu } from '@pctodl/gpu-sim'
import { given, UnknownNameError } from '@pctodl/platform'
import { formatResultsCsv } from '@pctodl/report'
import { evaluate, RunRecorder } from '@pctodl/report/evaluate'
import { runPolicy, type WindowObservation } from '@pctodl/scheduler'
import { evaluationText } from './evaluation-text.js'
import { EventLogWriter, eventLogOf } from './event-log-writer.js'
import { experimentPolicy } from './experiment-policy.js'
import { LiveView } from './live-view.js'
import { WINDOW_MS } from './published-schedules.js'
import type { ExperimentCall } from './run-options.js'

/**
 * Runs one algorithm on one board, shows and logs the run, and prints how well it held its cap.
 *
 * @returns the exit code
 */
export async function runExperiment(call: ExperimentCall, { stdout, stderr, signal }: Terminal): Promise<number> {
  const { caps, iterations, logFile, dataset } = call
  const backend = await openBackendOf(call)
  const windows: (WindowObservation & { readonly startedAt: Date })[] = []
  let log: EventLogWriter | undefined
  try {
    const { gpu } = backend
    const experiment = { ...call.experiment, board: gpu.spec.key }
    const policy = asUsage(() => experimentPolicy(experiment))
    const inputs = backend.kind === 'sim' ? '' : `; inputs: ${backend.inputs}`
    stderr.write(`${policy.name} for ${experiment.model} on ${backend.description}${inputs}\n`)
    // True energy is known only for a simulated board, and only used for reports.
    const recorder = new RunRecorder(gpu instanceof SimulatedGpu ? () => gpu.truth().meteredEnergyJ : undefined)
    const view = new LiveView(stderr, iterations * WINDOW_MS)
    if (logFile !== undefined) {
      log = new EventLogWriter(eventLogOf(logFile))
      // A file that cannot be written is better known before the run than after it.
      writeFileAtomically(logFile, formatResultsCsv(windows))
    }
    const about = { experiment, backend: backend.description, inputs: backend.inputs, dataset }
    await runPolicy({
      gpu,
      pool: backend.tenants,
      clock: backend.clock,
      policy,
      caps,
      iterations,
      windowMs: WINDOW_MS,
      sensorTolerancePercent: experiment.sensorTolerancePercent,
      signal,
      about,
      onWindow: (window, startedAt) => windows.push({ ...window, startedAt }),
      onEvent: (event) => {
        recorder.add(event)
        log?.add(event)
        view.show(event)
      },
    })
    const evaluation = evaluate(recorder.recording())
    const notes = policy.notes ?? []
    stdout.write(call.json ? jsonText({ about, evaluation, notes }) : evaluationText(evaluation, notes))
    const nothing = nothingCompleted(windows)
    if (nothing === undefined) return 0
    stderr.write(`pctodl run: ${nothing}\n`)
    return 1
  } finally {
    try {
      log?.close()
      // The log is also written if the run was cut short.
      if (logFile !== undefined && windows.length > 0) {
        writeFileAtomically(logFile, formatResultsCsv(windows))
        stderr.write(`Written: ${logFile}, ${eventLogOf(logFile)}\n`)
      }
    } finally {
      await backend.close()
    }
  }
}

/**
 * Error message for a run in which no tenant completed a sample, so that nothing was measured; otherwise undefined.
 */
function nothingCompleted(windows: readonly WindowObservation[]): string | undefined {
  if (windows.some(({ samples }) => samples > 0)) return undefined
  const tenants = windows.at(-1)?.tenants ?? []
  const causes = [...new Set(tenants.map(({ failure, validity }) => failure ?? validity ?? 'no batch was completed'))]
  const why = tenants.length === 0 ? 'no tenant ran' : causes.join('; ')
  return `not one sample was completed, so nothing was measured (${why}); see that one tenant serves alone first`
}

async function openBackendOf({ backend, gpu, seed, worker, dataset, datasetPath }: ExperimentCall) {
  // Loaded only here, because it loads the driver's library and the worker pools.
  const { openBackend } = await import('@pctodl/backend')
  const real = {
    ...given({ worker }),
    ...(datasetPath === undefined ? {} : { dataset: path.join(datasetPath, dataset) }),
  }
  try {
    return await openBackend({ kind: backend, gpu, seed, real })
  } catch (error) {
    if (error instanceof UnknownNameError) throw new UsageError(`--gpu: ${error.message}`)
    throw error
  }
}
