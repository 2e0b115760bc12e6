/**
 * How right the predictor is of a board that it was not shipped for, after few rows: sixty random mixes measured, the fit begun at the
 * parameters of another board or without any. Truth is the simulator at the clock that really ran, on random configurations.
 *
 *   pnpm evaluate-new-boards [--fit-rows 60] [--rows 1500] [board ...]
 */
import { parseArgs } from 'node:util'
import { fitPerfModel, loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { findGpuSpec } from '@pctodl/platform'
import { freshConfigurations } from './evaluation/fresh-configurations.js'
import { measuredRows } from './evaluation/measured-rows.js'
import { errorText, judged } from './evaluation/prediction-errors.js'
import { profileDesign } from './profile-designs.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '1500' }, 'fit-rows': { type: 'string', default: '60' } },
})
const fitRows = Number(values['fit-rows'])
const boards = positionals.length > 0 ? positionals : ['A100', '3080Ti', 'V100', 'T4', 'A10', 'RTX3090', 'H100']

const table = boards.flatMap((board) => {
  const spec = findGpuSpec(board)
  const design = profileDesign(spec, 77)
  const rows = measuredRows(
    board,
    Array.from({ length: fitRows }, (_, i) => design[Math.floor((i * design.length) / fitRows)]!),
  )
  const starts = ['A100', '3080Ti'].filter((start) => start !== spec.key)
  return [undefined, ...starts].map((start) => {
    const { parameters } = fitPerfModel(rows, spec, {
      source: `${rows.length} rows of ${spec.name}`,
      folds: 3,
      starts: 1,
      maxIterations: 25,
      ...(start === undefined ? {} : { from: loadPerfModel(start).parameters }),
    })
    const model = new PerfModel(parameters, spec)
    const errors = judged(board, model, freshConfigurations(model, Number(values.rows)))
    const pair = (of: 'throughput' | 'power') => errorText(errors.map((error) => error[of]))
    return {
      board,
      'begun at': start ?? 'nothing',
      rows: rows.length,
      judged: errors.length,
      throughput: pair('throughput'),
      power: pair('power'),
    }
  })
})
console.log('median / 95th percentile of errors, %')
console.table(table)
