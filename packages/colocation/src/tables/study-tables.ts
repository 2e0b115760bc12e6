import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { type Colocation, membersLabel } from '../colocation.js'
import { type Workload, WorkloadCatalog, workloadNameOf } from '../workload.js'
import { assertColumns, type CsvRow, formatCsv, parseCsvTable, TableError } from './csv-table.js'

/** Columns of the table of workloads and the fields that they set. The published table has the same columns. */
const columns = [
  ['Threads', 'threads'],
  ['Compute (SM) Throughput', 'smThroughputPercent'],
  ['DRAM Throughput', 'dramThroughputPercent'],
  ['Memory Throughput', 'memoryThroughputPercent'],
  ['Registers', 'registers'],
  ['Static Shared Memory', 'staticSharedMemory'],
  ['exclusive_throughput', 'exclusiveThroughput'],
  ['sm%', 'smUtilPercent'],
  ['mem%', 'memUtilPercent'],
  ['memcap', 'memoryGib'],
] as const

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
    const metrics = Object.fromEntries(
      columns.map(([column, field]) => [
        field,
        field === 'exclusiveThroughput' ? row.positive(column) : row.notNegative(column),
      ]),
    ) as Record<(typeof columns)[number][1], number>
    return { name, batchSize, training, ...metrics, ...powerOf(row) }
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

/** Possible names of the table of workloads: the name of this project and the published name. */
const WORKLOADS = ['workloads.csv', 'workloads_kace.csv']

/**
 * Read `workloads.csv` and `colocations2.csv`, `colocations3.csv`, ... of a folder, or the published tables.
 *
 * @throws PctodlError `NO_STUDY` if the folder lacks a table or has two of one kind; TableError
 */
export function readStudy(folder: string): Study {
  const files = existsSync(folder) ? readdirSync(folder) : []
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8')
  const [workloads, ...more] = files.filter((name) => WORKLOADS.includes(name))
  const fail = (found: string) => new PctodlError('NO_STUDY', `${folder} has ${found}`)
  if (workloads === undefined || more.length > 0) {
    const found = workloads ? `both ${WORKLOADS.join(' and ')}` : `no ${WORKLOADS.join(' or ')}`
    throw fail(`${found}: expected a folder of measured tables, with one of them`)
  }
  const catalog = parseWorkloadTable(read(workloads), workloads)
  const tables = files
    .map((name) => ({ name, size: Number(/^colocations(\d+)(?:_dev)?\.csv$/.exec(name)?.[1]) }))
    .filter(({ size }) => !Number.isNaN(size))
    .sort((a, b) => a.size - b.size)
  const colocations = new Map<number, ColocationRow[]>()
  for (const { name, size } of tables) {
    const rows = parseColocationTable(read(name), catalog, name)
    const members = rows[0]!.members.length
    const expected = `${members} members, expected the ${size} of its name`
    if (members !== size) throw new TableError(name, 1, undefined, expected)
    if (colocations.has(size)) throw fail(`two tables of ${size} members, expected one`)
    colocations.set(size, rows)
  }
  if (colocations.size === 0) throw fail('no colocations2.csv (or 3, 4, ...): expected measured colocations')
  return { catalog, colocations }
}

/** All measured colocations of a study, of every size. */
export function allColocations({ colocations }: Study): ColocationRow[] {
  return [...colocations.values()].flat()
}
