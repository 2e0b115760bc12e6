import type { Terminal } from '@pctodl/command-line'
import { SeededRandom } from '@pctodl/numerics'
import { PctodlError } from '@pctodl/platform'
import { commonName } from '../network-of.js'
import type { PerfModel } from '../perf-model.js'
import type { Prediction } from '../predictor.js'
import type { PredictOptions } from './predict-options.js'
import { newTable } from './prediction-report.js'
import { findTraceFiles, readTraceFile } from './trace-files.js'

const quantities = ['SM utilization', 'MEM utilization', 'throughput', 'power'] as const

interface Metrics {
  readonly quantity: string
  readonly rows: number
  readonly mae: number
  readonly rmse: number
  /** Mean of |error| / max(|measured|, 0.1), percent. */
  readonly mape: number
  readonly r2: number
}

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
  const wanted = new Set(model.map(commonName))
  const rows = files
    .flatMap((file) => readTraceFile(file).rows)
    .filter((row) => !row.failed && (memClock === undefined || row.memClockMhz === memClock))
    .filter((row) => model.includes('all') || row.tenants.every((tenant) => wanted.has(commonName(tenant.model))))
  if (rows.length === 0) throw new PctodlError('NO_TRACES', `no row of ${model.join(', ')} in ${files.join(', ')}`)
  const random = new SeededRandom(seed)
  const drawn = rows.map((row) => ({ row, order: random.uniform() })).sort((a, b) => a.order - b.order)
  const chosen = drawn.slice(0, sample).map((entry) => entry.row)
  const pairs = chosen.map((row) => ({ row, predicted: quantitiesOf(predictor.predict(row)) }))
  const metrics = quantities.map((quantity, i) =>
    metricsOf(
      quantity,
      pairs.map(({ row, predicted }) => [quantitiesOf({ ...row, powerW: row.powerAverageW })[i]!, predicted[i]!]),
    ),
  )
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

/** Values in the order of `quantities`. */
function quantitiesOf({
  smUtilPercent,
  memUtilPercent,
  throughput,
  powerW,
}: Pick<Prediction, 'smUtilPercent' | 'memUtilPercent' | 'throughput' | 'powerW'>): readonly number[] {
  return [smUtilPercent, memUtilPercent, throughput, powerW]
}

function metricsOf(quantity: string, pairs: readonly (readonly [measured: number, predicted: number])[]): Metrics {
  const count = pairs.length
  const mean = pairs.reduce((sum, [measured]) => sum + measured, 0) / count
  let absolute = 0
  let square = 0
  let relative = 0
  let variance = 0
  for (const [measured, predicted] of pairs) {
    absolute += Math.abs(predicted - measured)
    square += (predicted - measured) ** 2
    relative += Math.abs(predicted - measured) / Math.max(Math.abs(measured), 0.1)
    variance += (measured - mean) ** 2
  }
  return {
    quantity,
    rows: count,
    mae: absolute / count,
    rmse: Math.sqrt(square / count),
    mape: (100 * relative) / count,
    r2: 1 - square / variance,
  }
}
