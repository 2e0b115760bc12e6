import type { Colocation } from '../colocation.js'
import type { WorkloadCatalog } from '../workload.js'
import { csvCell, parseCsvTable } from './csv-table.js'
import { TableError } from './table-error.js'
import { POWER } from './workload-table.js'

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
  if (size < 2)
    throw new TableError(file, 1, undefined, 'expected the columns workload1, workload2, ... of two or more')
  const ranks = Array.from({ length: size }, (_, i) => i + 1)
  for (const column of ranks.flatMap((rank) => [`workload${rank}`, `w${rank}throughput`])) {
    if (!columns.includes(column))
      throw new TableError(file, 1, column, `missing; the columns are ${columns.join(', ')}`)
  }
  return rows.map((row, index) => {
    const members = ranks.map((rank) => {
      const name = row.text(`workload${rank}`)
      if (!catalog.has(name)) throw row.error(`workload${rank}`, `'${name}' is not in the table of workloads`)
      return catalog.get(name)
    })
    const powerW = row.optionalPositive(POWER)
    return {
      row: columns.includes('row') ? row.number('row') : index,
      members,
      throughputs: ranks.map((rank) => row.positive(`w${rank}throughput`)),
      ...(powerW === undefined ? {} : { powerW }),
    }
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
  const powered = colocations.some(({ powerW }) => powerW !== undefined)
  const header = [
    'row',
    ...ranks.map((rank) => `workload${rank}`),
    ...ranks.map((rank) => `w${rank}throughput`),
    ...(powered ? [POWER] : []),
  ]
  const lines = colocations.map(({ members, throughputs, powerW }, row) =>
    [row, ...members.map(({ name }) => name), ...throughputs, ...(powered ? [powerW ?? ''] : [])]
      .map(csvCell)
      .join(','),
  )
  return `${[header.join(','), ...lines].join('\n')}\n`
}
