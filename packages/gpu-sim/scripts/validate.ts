/**
 * Every measured table against the simulator: by board and quantity the number of values, median and 90th percentile of the
 * error, bias, rank correlation, and what a plain rule would have said. Prints Markdown.
 *
 *   pnpm --filter @pctodl/gpu-sim validate [folder with the measured tables] [--worst 3] [--page validation.html]
 *
 * `--page` writes one page that needs nothing else, with a plot and the worst rows of each comparison.
 *
 * The folder may also be one that `pctodl prove` wrote: its rows are then compared. Without a folder it reads the tables that `@pctodl/reference-data` holds. Tables that are not there are named.
 */
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type Comparison, summarise } from './validate/comparison.js'
import {
  capSweepLlm,
  capSweepTraining,
  clockCapGrid,
  dvfsKernels,
  limitUnits,
  mlperfPowerPairs,
} from './validate/power-comparisons.js'
import { proofComparisons } from './validate/proof-comparisons.js'
import { type Row, readTable } from './validate/table.js'
import {
  matrixProducts,
  migNeighbours,
  mpsPairs,
  mpsPower,
  mpsSolo,
  resnetBatch,
  timmThroughput,
} from './validate/throughput-comparisons.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { worst: { type: 'string', default: '1' }, page: { type: 'string' } },
})
const folder =
  positionals[0] ??
  ['files/measured']
    .map((each) => path.resolve(import.meta.dirname, '../../reference-data', each))
    .find((each) => existsSync(each))
if (folder === undefined) throw new Error('name the folder that holds the measured tables as CSV files')

const checks: Readonly<Record<string, (rows: readonly Row[]) => Comparison[]>> = {
  cap_sweep_llm: capSweepLlm,
  cap_sweep_training: capSweepTraining,
  clock_cap_grid_hpc: clockCapGrid,
  dvfs_kernels: dvfsKernels,
  limit_sgemm_v100_units: limitUnits,
  mlperf_power_pairs: mlperfPowerPairs,
  throughput_networks_rtx3090: (rows) => timmThroughput(rows, 'throughput_networks_rtx3090'),
  throughput_networks_rtx4090: (rows) => timmThroughput(rows, 'throughput_networks_rtx4090'),
  throughput_resnet_batch: resnetBatch,
  sharing_mps_solo_v100: mpsSolo,
  sharing_mps_pairs_v100: mpsPairs,
  sharing_mps_power_v100: (rows) => mpsPower(rows, readTable(folder, 'sharing_mps_count_v100') ?? []),
  llm_operators: matrixProducts,
  mlperf_mig_neighbours: migNeighbours,
}
/** Tables that are not compared, and why. */
const notCompared: Readonly<Record<string, string>> = {
  cap_sweep_diffusion_v100: 'peaks and minima only',
  dvfs_training_caffe: 'a Pascal board',
  mlperf_throughput: 'INT8 engines and several boards a server',
  throughput_networks_rtx5090: 'a Blackwell board',
  throughput_networks_pro6000: 'a Blackwell board',
  training_throughput_boards: 'training',
  solo_kernel_utilisation: 'a Turing board at profiler clocks',
  sharing_training_pairs: 'training',
  sensor_boards: 'the spread of gains was taken from it',
  sensor_step_response: 'time constants were taken from it; a test replays the step',
  llm_serving_times: 'whole language models',
}

const missing: string[] = []
const proof = proofComparisons(folder)
const tables = proof === null ? Object.entries(checks) : []
const comparisons = [...(proof ?? [])]
for (const [name, check] of tables) {
  const rows = readTable(folder, name)
  if (rows === null) missing.push(name)
  else comparisons.push(...check(rows).filter((comparison) => comparison.points.length > 0))
}
if (missing.length === Object.keys(checks).length) {
  throw new Error(
    `${folder} holds none of the measured tables (${missing.join('.csv, ')}.csv): name the folder that does`,
  )
}

const one = (value: number | null, digits = 1) => (value === null ? '' : value.toFixed(digits))
const head = [
  'table',
  'board',
  'quantity',
  'held out',
  'n',
  'median',
  'p90',
  'bias (95 %)',
  'rank',
  'plain rule: median',
]
const rows = comparisons.map((comparison) => {
  const { n, median, p90, bias, biasRange, rank, baselineMedian } = summarise(comparison)
  const unit = comparison.errors === 'relative' ? ' %' : ''
  return [
    comparison.table,
    comparison.board,
    comparison.quantity,
    comparison.heldOut ? 'yes' : 'no',
    String(n),
    one(median) + unit,
    one(p90) + unit,
    `${one(bias)}${unit}${biasRange === null ? '' : ` (${biasRange.map((value) => one(value)).join(' to ')})`}`,
    one(rank, 2),
    baselineMedian === null ? '' : `${one(baselineMedian)}${unit} (${comparison.baseline})`,
  ]
})
console.log(`| ${head.join(' | ')} |`)
console.log(`|${' --- |'.repeat(head.length)}`)
for (const row of rows) console.log(`| ${row.join(' | ')} |`)
const worst = comparisons
  .map((comparison) => ({ comparison, worst: summarise(comparison).worst }))
  .sort((a, b) => Math.abs(b.worst.error) - Math.abs(a.worst.error))
console.log('\nWorst rows:\n')
for (const { comparison, worst: row } of worst.slice(0, 8 * Number(values.worst))) {
  const unit = comparison.errors === 'relative' ? ' %' : ' points'
  console.log(
    `- ${comparison.table}, ${comparison.quantity}: ${row.label}: ${row.measured.toPrecision(3)} measured, ${row.simulated.toPrecision(3)} simulated (${one(row.error, 0)}${unit})`,
  )
}
const notes =
  proof !== null
    ? []
    : [
        ...(missing.length > 0 ? [`Not in the folder: ${missing.join(', ')}.`] : []),
        `Not compared: ${Object.entries(notCompared)
          .map(([name, why]) => `${name} (${why})`)
          .join(', ')}.`,
      ]
for (const note of notes) console.log(`\n${note}`)
if (values.page !== undefined) {
  const { validationPage } = await import('./validate/page.js')
  writeFileSync(values.page, await validationPage(comparisons, { head, rows }, notes))
  console.error(`wrote ${values.page}`)
}
