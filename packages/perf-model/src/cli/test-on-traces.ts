import { type Terminal, UsageError } from '@pctodl/command-line'
import { SeededRandom } from '@pctodl/numerics'
import { PctodlError, type TraceRow } from '@pctodl/platform'
import { isPublishedFolder } from '../parameter-folder.js'
import { loadPublishedParameters } from '../published/load-published-parameters.js'
import { publishedModelName } from '../published/published-parameters.js'
import type { PredictOptions } from './predict-options.js'
import { openEngine, type PredictionEngine } from './prediction-engine.js'
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

/** `pctodl-predict --test`: predictions beside measured rows, in upstream's metrics. */
export async function testOnTraces(
  options: PredictOptions,
  given: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const { platform, dataset = 'imagenet', memFreq, sample, seed, model } = options
  const files =
    given.length > 0 ? given : findTraceFiles('.', { dataset, platform }).filter((file) => file.includes('mps_results'))
  if (files.length === 0) {
    throw new PctodlError('NO_TRACES', 'no mps_profile/mps_results*.csv here that fits; name trace files after --test')
  }
  if (options.useActualUtil && !(options.params !== undefined && isPublishedFolder(options.params))) {
    throw new UsageError(
      "--use-actual-util feeds the stages of upstream's predictor: give its parameters with --params",
    )
  }
  const wanted = new Set(model.map(publishedModelName))
  const rows = files
    .flatMap((file) => readTraceFile(file).rows)
    .filter((row) => !row.failed && (memFreq === undefined || row.memClockMhz === memFreq))
    .filter(
      (row) => model.includes('all') || row.tenants.every((tenant) => wanted.has(publishedModelName(tenant.model))),
    )
  if (rows.length === 0) throw new PctodlError('NO_TRACES', `no row of ${model.join(', ')} in ${files.join(', ')}`)
  const random = new SeededRandom(seed)
  const drawn = rows.map((row) => ({ row, order: random.uniform() })).sort((a, b) => a.order - b.order)
  const chosen = drawn.slice(0, sample).map((entry) => entry.row)
  const engines = new Map<number, PredictionEngine>()
  for (const row of chosen) {
    if (!engines.has(row.memClockMhz)) {
      engines.set(row.memClockMhz, await openEngine(options, row.memClockMhz, terminal))
    }
  }
  const pairs = chosen.map((row) => ({ row, predicted: predictRow(row, engines.get(row.memClockMhz)!, options) }))
  const metrics = quantities.map((quantity, i) =>
    metricsOf(
      quantity,
      pairs.map(({ row, predicted }) => [measuredOf(row)[i]!, predicted[i]!] as const),
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

function measuredOf({ smUtilPercent, memUtilPercent, throughput, powerAverageW }: TraceRow): readonly number[] {
  return [smUtilPercent, memUtilPercent, throughput, powerAverageW]
}

function predictRow(row: TraceRow, engine: PredictionEngine, options: PredictOptions): readonly number[] {
  if (options.useActualUtil) {
    const { params, platform, dataset = 'imagenet', smSystemStage } = options
    const predictor = loadPublishedParameters(params!).predictor({
      model: row.tenants[0]!.model,
      platform,
      dataset,
      memFreq: row.memClockMhz,
      smSystemStage,
    })
    const { smUtilPercent, memUtilPercent } = row
    const shares = row.tenants.map((tenant) => tenant.mpsPercent)
    const batches = row.tenants.map((tenant) => tenant.batchSize)
    const found = predictor.predictFromUtilisation(shares, batches, row.smClockMhz, { smUtilPercent, memUtilPercent })
    return [found.smUtilPercent, found.memUtilPercent, found.throughput, found.powerW]
  }
  const tenants = row.tenants.map(({ model, mpsPercent, batchSize }) => engine.tenant(model, mpsPercent, batchSize))
  const { smUtilPercent, memUtilPercent, throughput, powerW } = engine.predict(tenants, row.smClockMhz)
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
