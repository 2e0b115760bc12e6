/**
 * Make the error tables of the shipped parameters anew: `tsx --conditions=@pctodl/source scripts/calibrate-shipped-parameters.ts <directory>`
 * reads `<directory>/<board key>-unseen.csv`, rows that the fit has not seen, and writes `params/<board key>.json`; predictions stay.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gpuSpecs } from '@pctodl/platform'
import { parseTraceCsv } from '@pctodl/platform/trace-csv'
import { recalibrate } from '../src/fit/recalibrate.js'
import { formatParameters } from '../src/parameter-folder.js'
import { PerfModel } from '../src/perf-model.js'

const [directory] = process.argv.slice(2)
if (directory === undefined) throw new Error('usage: calibrate-shipped-parameters.ts <directory with trace CSVs>')

for (const key of Object.keys(gpuSpecs)) {
  const rows = join(directory, `${key}-unseen.csv`)
  if (!existsSync(rows)) continue
  const file = join(import.meta.dirname, '..', 'params', `${key}.json`)
  const json = JSON.parse(readFileSync(file, 'utf8'))
  const { parameters } = recalibrate(PerfModel.load(json), parseTraceCsv(readFileSync(rows, 'utf8')))
  writeFileSync(file, formatParameters({ ...json, calibration: parameters.calibration }))
  console.log(
    `${key}: ${parameters.calibration.map(({ quantity, count }) => `${count} errors of ${quantity}`).join(', ')}`,
  )
}
