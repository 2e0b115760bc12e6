/**
 * Rows of the simulated boards that no fit of the shipped parameters sees, to make their error tables of: random configurations at the clock that
 * really ran, as a calibrated meter would write them. Writes `<folder>/<board>-unseen.csv`.
 *
 *   pnpm params:calibration
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { calibratedBoards } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { formatTraceCsv } from '@pctodl/platform'
import { freshConfigurations } from './evaluation/fresh-configurations.js'
import { measuredRows } from './evaluation/measured-rows.js'
import { fits } from './evaluation/prediction-errors.js'

const ROWS = 4000

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder to write to')
mkdirSync(folder, { recursive: true })
for (const board of calibratedBoards) {
  const model = loadPerfModel(board)
  const fitting = freshConfigurations(model, ROWS, 'calibration').filter((wanted) => fits(model, wanted))
  const rows = measuredRows(board, fitting)
  writeFileSync(path.join(folder, `${board}-unseen.csv`), formatTraceCsv(rows))
  console.log(`${board}: ${rows.length} rows`)
}
