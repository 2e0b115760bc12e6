import { SeededRandom, seedFrom, shuffled } from '@pctodl/numerics'
import type { PlannedRow } from './profile-plan.js'

/**
 * Orders rows for measuring. The order is random, so that drift (heat, other users of the host) does not correlate with
 * shares or batches. Rows that run in the same processes form blocks, because only batch and clock can change without a
 * restart. Blocks are shuffled, and so are the rows within each.
 */
export function orderRows(rows: readonly PlannedRow[], seed: number): PlannedRow[] {
  const random = new SeededRandom(seedFrom('order', seed))
  const blocks = new Map<string, PlannedRow[]>()
  for (const row of rows) {
    const key = `${row.repeat} ${processesOf(row)}`
    const block = blocks.get(key)
    if (block) block.push(row)
    else blocks.set(key, [row])
  }
  return shuffled([...blocks.values()], random).flatMap((block) => shuffled(block, random))
}

/** Key that is equal for rows that can run in the same processes. */
export function processesOf({ tenants }: PlannedRow): string {
  return tenants
    .map(({ model, mpsPercent }) => `${model}:${mpsPercent}`)
    .sort()
    .join(' ')
}

/** Repeats all rows this many times, one pass after the other. */
export function repeated(rows: readonly PlannedRow[], times: number): PlannedRow[] {
  return Array.from({ length: times }, (_, repeat) => rows.map((row) => ({ ...row, repeat }))).flat()
}
