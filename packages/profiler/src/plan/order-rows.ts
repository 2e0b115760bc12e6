import { SeededRandom, seedFrom, shuffled } from '@pctodl/numerics'
import { groupBy } from '@pctodl/platform'
import type { PlannedRow } from './profile-plan.js'

/**
 * Orders rows for measuring. The order is random, so that drift (heat, other users of the host) does not correlate with
 * shares or batch sizes. Rows that need the same processes are measured one after another, because batch size and clock
 * can change without restarting processes. These groups are shuffled, and so are the rows within each.
 */
export function orderRows(rows: readonly PlannedRow[], seed: number): PlannedRow[] {
  const random = new SeededRandom(seedFrom('order', seed))
  const blocks = groupBy(rows, (row) => `${row.repeat} ${processesOf(row)}`)
  return shuffled([...blocks.values()], random).flatMap((block) => shuffled(block, random))
}

/** A key that is equal for rows that need the same processes. */
export function processesOf({ tenants }: PlannedRow): string {
  return tenants
    .map(({ model, mpsPercent }) => `${model}:${mpsPercent}`)
    .sort()
    .join(' ')
}

/** Returns all rows, again and again in the same order: one whole pass after another. */
export function repeated(rows: readonly PlannedRow[], times: number): PlannedRow[] {
  return Array.from({ length: times }, (_, repeat) => rows.map((row) => ({ ...row, repeat }))).flat()
}
