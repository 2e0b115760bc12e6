/**
 * Every measured table of a folder against the simulator. Each table is known by its columns, each board in it by its name; what cannot be
 * compared says why. Prints Markdown: where it fails first, each comparison (median and 90th percentile of the error, bias, rank correlation,
 * what a plain rule would have said), each board by itself, and what became of all rows.
 *
 *   pnpm --filter @pctodl/gpu-sim validate [folder with the measured tables] [--worst 3] [--page validation.html] [--board my-board.json]
 *
 * `--page` writes one page that needs nothing else, with a plot and the worst rows of each comparison, the worst comparison first. `--board` makes a
 * board known that no release has. The folder may also be one that `pctodl prove` wrote. Without a folder it reads the tables that
 * `@pctodl/reference-data` holds.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { addGpuSpec, InvalidInputError, parsePlatformFile } from '@pctodl/platform'
import { boardTable, failsFirst } from './validate/by-board.js'
import { compareTables } from './validate/compare-tables.js'
import { summarise } from './validate/comparison.js'
import { proofComparisons } from './validate/proof-comparisons.js'
import { readTables } from './validate/table.js'

process.on('uncaughtException', (error) => {
  console.error('code' in error ? error.message : error)
  process.exitCode = 1
})
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    worst: { type: 'string', default: '1' },
    page: { type: 'string' },
    board: { type: 'string', multiple: true, default: [] },
  },
})
for (const file of values.board) addGpuSpec(parsePlatformFile(readFileSync(file, 'utf8'), file))
const folder = positionals[0] ?? path.resolve(import.meta.dirname, '../../reference-data/files/measured')
const proof = proofComparisons(folder)
const { comparisons: inOrder, accounts } = proof
  ? { comparisons: proof, accounts: [] }
  : compareTables(readTables(folder))
if (!proof && accounts.length === 0)
  throw new InvalidInputError('folder', folder, 'a folder with measured tables as CSV files')
const comparisons = [...inOrder].sort(failsFirst)

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
print(head, rows)
console.log('\nBy board; held out are comparisons of which no coefficient was chosen:\n')
const boards = boardTable(comparisons)
print(boards.head, boards.rows)
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
console.log('\nWhat became of all rows:\n')
const accountRows = accounts.map(({ table, board, rows, values: n, reason }) => [
  table,
  board,
  String(rows),
  String(n),
  reason,
])
print(['table', 'board', 'rows', 'values compared', 'why not more'], accountRows)
const notes = accounts
  .filter(({ values: n }) => n === 0)
  .map(({ table, board, rows, reason }) => `${table}, ${board || 'no board'}: ${rows} rows ${reason}`)

function print(heads: readonly string[], lines: readonly (readonly string[])[]): void {
  console.log(`| ${heads.join(' | ')} |`)
  console.log(`|${' --- |'.repeat(heads.length)}`)
  for (const line of lines) console.log(`| ${line.join(' | ')} |`)
}
if (values.page !== undefined) {
  const { validationPage } = await import('./validate/page.js')
  writeFileSync(values.page, await validationPage(comparisons, { head, rows }, notes))
  console.error(`wrote ${values.page}`)
}
