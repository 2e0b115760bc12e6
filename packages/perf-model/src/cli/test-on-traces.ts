import type { Terminal } from '@pctodl/command-line'
import { mean, SeededRandom } from '@pctodl/numerics'
import { PctodlError } from '@pctodl/platform'
import type { PerfModel } from '../perf-model.js'
import type { PredictOptions } from './predict-options.js'
import { newTable } from './prediction-report.js'
import { findTraceFiles, readTraceFile, rowFilter } from './trace-files.js'

const quantities = {
  'SM utilization': 'smUtilPercent',
  'MEM utilization': 'memUtilPercent',
  throughput: 'throughput',
  power: 'powerW',
} as const

/** Runs `pctodl predict --test`: compares predictions with measured rows, by the metrics of the Python code. */
export function testOnTraces(
  predictor: PerfModel,
  options: PredictOptions,
  given: true | readonly string[],
  terminal: Terminal,
): number {
  const { gpu: platform, dataset = 'imagenet', memClock, sample, seed, model } = options
  const files =
    given !== true ? given : findTraceFiles('.', { dataset, platform }).filter((file) => file.includes('mps_results'))
  if (files.length === 0) {
    throw new PctodlError('NO_TRACES', 'no mps_profile/mps_results*.csv here that fits; name trace files after --test')
  }
  const isWanted = rowFilter(model, memClock)
  const rows = files.flatMap((file) => readTraceFile(file).rows).filter((row) => !row.failed && isWanted(row))
  if (rows.length === 0) throw new PctodlError('NO_TRACES', `no row of ${model.join(', ')} in ${files.join(', ')}`)
  const random = new SeededRandom(seed)
  const drawn = rows.map((row) => ({ row, order: random.uniform() })).sort((a, b) => a.order - b.order)
  const chosen = drawn.slice(0, sample).map((entry) => entry.row)
  const predictions = chosen.map((row) => predictor.predict(row))
  const metrics = Object.entries(quantities).map(([quantity, field]) => ({
    quantity,
    ...metricsOf(
      chosen.map((row) => (field === 'powerW' ? row.powerAverageW : row[field])),
      predictions.map((prediction) => prediction[field]),
    ),
  }))
  if (options.json) terminal.stdout.write(`${JSON.stringify({ files, rows: chosen.length, metrics }, null, 2)}\n`)
  else {
    const table = newTable(['quantity', 'rows', 'MAE', 'RMSE', 'MAPE', 'R2'])
    for (const { quantity, rows: count, mae, rmse, mape, r2 } of metrics) {
      table.push([quantity, count, mae.toFixed(2), rmse.toFixed(2), `${mape.toFixed(2)} %`, r2.toFixed(4)])
    }
    terminal.stdout.write(`${table.toString()}\n`)
  }
  return 0
}

function metricsOf(measured: readonly number[], predicted: readonly number[]) {
  const errors = measured.map((value, i) => predicted[i]! - value)
  const square = mean(errors.map((error) => error ** 2))
  const average = mean(measured)
  return {
    rows: errors.length,
    mae: mean(errors.map(Math.abs)),
    rmse: Math.sqrt(square),
    /** Mean of |error| / max(|measured|, 0.1), percent. */
    mape: 100 * mean(errors.map((error, i) => Math.abs(error) / Math.max(Math.abs(measured[i]!), 0.1))),
    r2: 1 - square / mean(measured.map((value) => (value - average) ** 2)),
  }
}
