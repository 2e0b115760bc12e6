/**
 * Fit the shipped parameters: `tsx --conditions=@pctodl/source scripts/fit-shipped-parameters.ts <directory> [board ...]`
 * reads `<directory>/<board key>.csv` (of all boards that have one, unless some are named) and writes `params/<board key>.json`
 * and the README's table of errors.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gpuSpecs } from '@pctodl/platform'
import { parseTraceCsv } from '@pctodl/platform/trace-csv'
import { formatParameters } from '../src/cli/parameter-folder.js'
import { fitPerfModel } from '../src/fit/fit-perf-model.js'
import type { ErrorSummary } from '../src/parameters.js'
import { updateAccuracyTable } from './accuracy-table.js'

const [directory, ...boards] = process.argv.slice(2)
if (directory === undefined) throw new Error('usage: fit-shipped-parameters.ts <directory with trace CSVs> [board ...]')

const present = Object.keys(gpuSpecs).filter((key) => existsSync(join(directory, `${key}.csv`)))
for (const key of boards.length > 0 ? boards : present) {
  const file = join(directory, `${key}.csv`)
  const spec = gpuSpecs[key]
  if (spec === undefined || !existsSync(file)) throw new Error(`no board '${key}', or no trace ${file}`)
  const { parameters, report } = fitPerfModel(parseTraceCsv(readFileSync(file, 'utf8')), spec, {
    source: `steady-state sweep of the simulated ${spec.name} (gpu-sim): shares, batches, clocks and network mixes`,
    folds: 3,
    starts: 1,
    maxIterations: 25,
  })
  writeFileSync(join(import.meta.dirname, '..', 'params', `${key}.json`), formatParameters(parameters))
  console.log(`\n${key}: ${report.rows} rows, ${report.groups} groups, ${report.failedRows} failed rows left out`)
  console.table(report.heldOutErrors.map(tableRow))
  console.log('in sample')
  console.table(report.inSampleErrors.filter((entry) => entry.rows === 'all').map(tableRow))
  console.log(`at a bound: ${report.atBound.join(', ')}`)
}

updateAccuracyTable()

function tableRow({ quantity, rows, count, median, p95, unit }: ErrorSummary) {
  return { quantity, rows, count, median: `${median.toFixed(2)} ${unit}`, p95: `${p95.toFixed(2)} ${unit}` }
}
