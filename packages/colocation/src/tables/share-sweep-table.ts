import { type CsvRow, parseCsvTable } from './csv-table.js'
import { TableError } from './table-error.js'

/** Throughputs of workloads at one split of the MPS shares. */
export interface SharePoint {
  /** MPS active thread percentage of each member. */
  readonly mpsPercents: readonly number[]
  /** Throughput of each member, samples/s. */
  readonly throughputs: readonly number[]
}

/** One colocation, measured at several splits. */
export interface ShareSweep {
  readonly members: readonly string[]
  /** Measured splits; those marked `None` in the file are left out. */
  readonly points: readonly SharePoint[]
}

/**
 * Read the published sweep of shares: `workload1..k`, then one column per split, headed `(LS10, BE90)` or `(w1_10,
 * w2_90)`, whose cells are `(23.7, 3.5)` or `None`.
 *
 * @throws TableError with line and column
 */
export function parseShareSweepTable(text: string, file = 'share sweep'): ShareSweep[] {
  const { columns, rows } = parseCsvTable(text, file, ['workload1', 'workload2'])
  const names = columns.filter((column) => /^workload[1-9]\d*$/.test(column))
  const splits = columns
    .filter((column) => column.startsWith('('))
    .map((column) => ({ column, mpsPercents: splitOf(column, names.length, file) }))
  if (splits.length === 0) throw new TableError(file, 1, undefined, "no split, expected columns such as '(LS10, BE90)'")
  return rows.map((row) => ({
    members: names.map((name) => row.text(name)),
    points: splits.flatMap(({ column, mpsPercents }) => {
      const throughputs = tupleOf(row, column, names.length)
      return throughputs === undefined ? [] : [{ mpsPercents, throughputs }]
    }),
  }))
}

function splitOf(column: string, size: number, file: string): number[] {
  const parts = /^\((.*)\)$/.exec(column)?.[1]?.split(',') ?? []
  const shares = parts.map((part) => Number(/^(?:LS|BE|w[1-9]\d*_)(\d+)$/.exec(part.trim())?.[1]))
  if (shares.length !== size || !shares.every((share) => share > 0 && share <= 100)) {
    throw new TableError(file, 1, column, `expected ${size} shares from 1 to 100, such as '(LS10, BE90)'`)
  }
  return shares
}

/** A tuple of numbers, none below 0; undefined where all or part of it is `None`, which marks a failed run. */
function tupleOf(row: CsvRow, column: string, size: number): number[] | undefined {
  const text = row.optionalText(column)
  if (text === undefined || text === 'None') return undefined
  const parts = /^\((.*)\)$/.exec(text)?.[1]?.split(',') ?? []
  if (parts.length !== size) throw row.error(column, `got '${text}', expected a tuple of ${size} numbers or None`)
  if (parts.some((part) => part.trim() === 'None')) return undefined
  return parts.map((part) => {
    const value = Number(part)
    if (part.trim() === '' || !(value >= 0 && value < Infinity)) {
      throw row.error(column, `got '${text}', expected a tuple of ${size} numbers or None`)
    }
    return value
  })
}

/** Read solo throughputs by share: `workload`, then one column for each MPS share in percent. */
export function parseSoloSweepTable(text: string, file = 'solo sweep'): Map<string, SharePoint[]> {
  const { columns, rows } = parseCsvTable(text, file, ['workload'], { shortRows: true })
  const shares = columns.filter((column) => /^\d+$/.test(column) && Number(column) > 0 && Number(column) <= 100)
  if (shares.length === 0) throw new TableError(file, 1, undefined, 'no column headed by a share from 1 to 100')
  return new Map(
    rows.map((row) => [
      row.text('workload'),
      shares
        .filter((share) => row.optionalText(share) !== undefined)
        .map((share) => ({ mpsPercents: [Number(share)], throughputs: [row.notNegative(share)] })),
    ]),
  )
}
