/**
 * How right the predictor is of a board that it was not shipped for, after few rows: sixty random mixes measured, the fit begun at the
 * parameters of another board or without any. Truth is the simulator at the clock that really ran, on random configurations.
 *
 *   pnpm evaluate-new-boards [--fit-rows 60] [--rows 1500] [board ...]
 */
import { parseArgs } from 'node:util'
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { quantile } from '@pctodl/numerics'
import { fitPerfModel, loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { findGpuSpec } from '@pctodl/platform'
import { freshConfigurations } from './evaluation/fresh-configurations.js'
import { measuredRows } from './evaluation/measured-rows.js'
import { profileDesign } from './profile-designs.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '1500' }, 'fit-rows': { type: 'string', default: '60' } },
})
const fitRows = Number(values['fit-rows'])
const boards = positionals.length > 0 ? positionals : ['A100', '3080Ti', 'V100', 'T4', 'A10', 'RTX3090', 'H100']

const table = boards.flatMap((board) => {
  const spec = findGpuSpec(board)
  const simulate = simulateSteadyState(board)
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
    const errors = freshConfigurations(model, Number(values.rows))
      .filter(({ tenants }) => {
        const bytes = tenants.reduce((sum, tenant) => sum + model.memoryBytes(tenant), model.reservedMemoryBytes)
        return bytes <= spec.memoryBytes
      })
      .map((wanted) => {
        const ran = simulate(wanted)
        const { throughput, powerW } = model.predict({ ...wanted, smClockMhz: ran.smClockMhz })
        return { throughput: Math.log(ran.throughput / throughput), power: Math.log(ran.powerW / powerW) }
      })
    const pair = (of: 'throughput' | 'power') =>
      [0.5, 0.95]
        .map((q) =>
          quantile(
            errors.map((error) => 100 * Math.abs(error[of])),
            q,
          ).toFixed(1),
        )
        .join(' / ')
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
