import { SeededRandom, seedFrom, shuffled } from '@pctodl/numerics'
import type { PlannedRow } from './profile-plan.js'

/**
 * Put rows into the order in which they are measured: at random, so that whatever drifts (heat, other users of the host) does
 * not line up with shares or batches, but in blocks that run in the same processes, because only a batch or a clock can change
 * without a restart. Blocks are shuffled, and the rows of each.
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

/** What has to be the same for two rows to run in the same processes. */
export function processesOf({ tenants }: PlannedRow): string {
  return tenants
    .map(({ model, mpsPercent }) => `${model}:${mpsPercent}`)
    .sort()
    .join(' ')
}

/** Every row so many times, each repetition a pass of its own over all rows. */
export function repeated(rows: readonly PlannedRow[], times: number): PlannedRow[] {
  return Array.from({ length: times }, (_, repeat) => rows.map((row) => ({ ...row, repeat }))).flat()
}
