import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { type Colocation, membersLabel } from '../colocation.js'
import {
  metricColumns as columns,
  type MetricName,
  type Workload,
  WorkloadCatalog,
  workloadNameOf,
} from '../workload.js'
import { assertColumns, type CsvRow, formatCsv, parseCsvTable, TableError } from './csv-table.js'

/** Column of mean power, W: optional, and absent from the published table. */
const POWER = 'power'

/**
 * Read a table of workloads measured alone; the column `power` (W) may be absent or blank. Batch size and mode come
 * from the name (`<model>_batch<size>-<train|inf>`).
 *
 * @param file name for messages
 * @throws TableError with line and column
 */
export function parseWorkloadTable(text: string, file = 'workloads'): WorkloadCatalog {
  const { rows } = parseCsvTable(text, file, ['workload', ...columns.map(([column]) => column)])
  const seen = new Set<string>()
  const workloads = rows.map((row): Workload => {
    const name = row.text('workload')
    if (seen.has(name)) throw row.error('workload', `'${name}' occurs twice, expected one row per workload`)
    seen.add(name)
    const parsed = workloadNameOf(name)
    // Commands separate names by commas and blanks.
    if (parsed === null || /[,\s]/.test(name)) {
      throw row.error('workload', `got '${name}', expected '<model>_batch<size>-<train|inf>' without commas or blanks`)
    }
    const { batchSize, training } = parsed
    const figure = (column: string) =>
      column === 'exclusive_throughput' ? row.positive(column) : row.notNegative(column)
    const metrics = Object.fromEntries(columns.map(([column, field]) => [field, figure(column)]))
    return { name, batchSize, training, ...(metrics as Record<MetricName, number>), ...powerOf(row) }
  })
  return new WorkloadCatalog(workloads)
}

/** Write the table that `parseWorkloadTable` reads. */
export function formatWorkloadTable(workloads: Iterable<Workload>): string {
  const rows = [...workloads].map((workload) => ({
    cells: [workload.name, ...columns.map(([, field]) => workload[field])],
    powerW: workload.powerW,
  }))
  return formatWithPower(['workload', ...columns.map(([column]) => column)], rows)
}

function powerOf(row: CsvRow): { readonly powerW?: number } {
  return row.optionalText(POWER) === undefined ? {} : { powerW: row.positive(POWER) }
}

/** A measured colocation with its row number, which splits refer to. */
export interface ColocationRow extends Colocation {
  readonly row: number
}

/**
 * Read a table of measured colocations of one size k: `row` (optional, counted from 0), `workload1..k`,
 * `w1throughput..wkthroughput`, and optionally `power`, W.
 *
 * @param file name for messages
 * @throws TableError with line and column
 */
export function parseColocationTable(text: string, catalog: WorkloadCatalog, file = 'colocations'): ColocationRow[] {
  const { columns, rows } = parseCsvTable(text, file)
  const size = columns.filter((column) => /^workload[1-9]\d*$/.test(column)).length
  const expected = 'expected the columns workload1, workload2, ... of two or more'
  if (size < 2) throw new TableError(file, 1, undefined, expected)
  const extra = columns.find((column) => Number(/^w(\d+)throughput$/.exec(column)?.[1]) > size)
  if (extra !== undefined) throw new TableError(file, 1, extra, 'a throughput without its workload')
  const seen = new Map<string, number>()
  const ranks = Array.from({ length: size }, (_, i) => i + 1)
  const needed = ranks.flatMap((rank) => [`workload${rank}`, `w${rank}throughput`])
  assertColumns(columns, needed, file, 1)
  return rows.map((row, index) => {
    const members = ranks.map((rank) => {
      const name = row.text(`workload${rank}`)
      if (!catalog.has(name)) throw row.error(`workload${rank}`, `'${name}' is not in the table of workloads`)
      return catalog.get(name)
    })
    const throughputs = ranks.map((rank) => row.positive(`w${rank}throughput`))
    const power = powerOf(row)
    const number = columns.includes('row') ? row.number('row') : index
    // A copied row would count as a second measurement that confirms the first.
    for (const key of [`row ${number}`, JSON.stringify([membersLabel(members), throughputs, power])]) {
      const before = seen.get(key)
      if (before !== undefined) throw row.error('row', `the same as line ${before}; leave one`)
      seen.set(key, row.line)
    }
    return { row: number, members, throughputs, ...power }
  })
}

/**
 * Write the table that `parseColocationTable` reads.
 *
 * @param colocations all of one size
 */
export function formatColocationTable(colocations: readonly Colocation[]): string {
  const size = colocations[0]?.members.length ?? 2
  const ranks = Array.from({ length: size }, (_, i) => i + 1)
  const header = ['row', ...ranks.map((rank) => `workload${rank}`), ...ranks.map((rank) => `w${rank}throughput`)]
  const rows = colocations.map(({ members, throughputs, powerW }, row) => ({
    cells: [row, ...members.map(({ name }) => name), ...throughputs],
    powerW,
  }))
  return formatWithPower(header, rows)
}

/** Writes a table with a column of power, unless no row has one. */
function formatWithPower(
  header: readonly string[],
  rows: readonly { readonly cells: readonly (string | number)[]; readonly powerW: number | undefined }[],
): string {
  if (rows.every(({ powerW }) => powerW === undefined)) return formatCsv([header, ...rows.map(({ cells }) => cells)])
  return formatCsv([[...header, POWER], ...rows.map(({ cells, powerW }) => [...cells, powerW ?? ''])])
}

/** Measurements of one board, as a folder of tables. */
export interface Study {
  readonly catalog: WorkloadCatalog
  /** Measured colocations by number of members, ascending. */
  readonly colocations: ReadonlyMap<number, readonly ColocationRow[]>
}

/**
 * Read `workloads.csv` and `colocations2.csv`, `colocations3.csv`, ... of a folder.
 *
 * @throws PctodlError `NO_STUDY` if the folder lacks a table; TableError
 */
export function readStudy(folder: string): Study {
  const files = existsSync(folder) ? readdirSync(folder) : []
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8')
  const sizes = files.flatMap((name) => /^colocations([1-9]\d*)\.csv$/.exec(name)?.[1] ?? []).map(Number)
  if (!files.includes('workloads.csv') || sizes.length === 0) {
    const expected = 'expected workloads.csv and colocations2.csv (or 3, 4, ...)'
    throw new PctodlError('NO_STUDY', `${folder} is no folder of measured tables: ${expected}`)
  }
  const catalog = parseWorkloadTable(read('workloads.csv'), 'workloads.csv')
  const colocations = new Map<number, ColocationRow[]>()
  for (const size of sizes.sort((a, b) => a - b)) {
    const name = `colocations${size}.csv`
    const rows = parseColocationTable(read(name), catalog, name)
    const members = rows[0]!.members.length
    const expected = `${members} members, expected the ${size} of its name`
    if (members !== size) throw new TableError(name, 1, undefined, expected)
    colocations.set(size, rows)
  }
  return { catalog, colocations }
}

/** All measured colocations of a study, of every size. */
export function allColocations({ colocations }: Study): ColocationRow[] {
  return [...colocations.values()].flat()
}
