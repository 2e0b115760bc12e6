import { setImmediate } from 'node:timers/promises'
import { type CommandFunction, type Terminal, writeFileAtomically } from '@pctodl/command-line'
import { InvalidInputError, PctodlError, type TraceRow } from '@pctodl/platform'
import { type FitReport, type FittedModel, fitSteps } from '../fit/fit-perf-model.js'
import { assertTraceRow } from '../fit/trace-table.js'
import type { PerfModelParameters } from '../parameters.js'
import { type CommandFitOptions, parseFitOptions } from './fit-options.js'
import { formatFitReport } from './fit-report-text.js'
import { loadCharts } from './optional-packages.js'
import { formatParameters, parameterFile } from './parameter-folder.js'
import { residualChart } from './residual-chart.js'
import { findTraceFiles, readTraceFile, rowFilter, TraceFileError } from './trace-files.js'

export const fit: CommandFunction = async (argv, terminal) => {
  const options = await parseFitOptions(argv, terminal)
  const { stdout, stderr } = terminal
  // Fail on a missing optional package before the fit, which takes minutes.
  const charts = options.plot === undefined ? undefined : await loadCharts()
  const { files, rows, staticRows } = readRows(options)
  stderr.write(`${rows.length} rows of ${files.length} files\n`)
  const { parameters, report } = await fitTo(rows, files, options, terminal)
  const outputs = [parameterFile(options.params, options.spec.key)]
  writeFileAtomically(outputs[0]!, formatParameters(parameters))
  if (charts && options.plot !== undefined) {
    const of = { board: options.spec.key, heldOut: options.folds > 0 }
    writeFileAtomically(options.plot, await charts.renderSvg(residualChart(report.predictions, of, charts)))
    outputs.push(options.plot)
  }
  stdout.write(
    options.json
      ? `${JSON.stringify({ ...jsonReport(parameters, report), staticRows, traces: files, files: outputs }, null, 2)}\n`
      : formatFitReport(report, { staticRows, files: outputs }),
  )
  return 0
}

async function fitTo(
  rows: readonly TraceRow[],
  files: readonly string[],
  { spec, seed, folds, starts, unlockedClock }: CommandFitOptions,
  { stderr, signal }: Terminal,
): Promise<FittedModel> {
  const steps = fitSteps(rows, spec, { source: `traces ${files.join(', ')}`, seed, folds, starts, unlockedClock })
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    stderr.write(`fit ${step.value.done} of ${step.value.total}\n`)
    // Give the event loop a turn, because interrupts are only delivered then.
    await setImmediate()
    signal.throwIfAborted()
  }
}

function readRows(options: CommandFitOptions): { files: readonly string[]; rows: TraceRow[]; staticRows: number } {
  const { traces, dataset, gpu: platform, memClock, model } = options
  const files = traces.length > 0 ? traces : findTraceFiles('.', { dataset, platform })
  if (files.length === 0) {
    throw new PctodlError('NO_TRACES', 'no mps_profile/mps_results*.csv here that fits; name trace files')
  }
  const isWanted = rowFilter(model, memClock)
  let staticRows = 0
  const rows = files.flatMap((file) => {
    const read = readTraceFile(file)
    staticRows += read.staticRows
    const kept = read.rows.filter((row, i) => {
      if (!isWanted(row)) return false
      if (!row.failed) inFile(file, () => assertTraceRow(row, `row ${read.rowNumbers[i]}`, options.spec))
      return true
    })
    if (kept.length > 0 && kept.every((row) => row.failed)) throw new TraceFileError(file, 'every row failed')
    return kept
  })
  if (rows.length === 0) throw new PctodlError('NO_TRACES', `no row that fits in ${files.join(', ')}`)
  return { files, rows, staticRows }
}

function inFile(file: string, check: () => void): void {
  try {
    check()
  } catch (error) {
    if (error instanceof InvalidInputError) throw new TraceFileError(file, error.message, { cause: error })
    throw error
  }
}

function jsonReport({ provenance }: PerfModelParameters, { predictions: _, ...report }: FitReport) {
  return { provenance, ...report }
}
