import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { measureRow, type RowContext } from './measure/measure-row.js'
import type { ProfileRow } from './measure/profile-row.js'
import type { ProfiledBoard } from './measure/profiled-board.js'
import { type PlannedRow, type ProfilePlan, requestsClock } from './plan/profile-plan.js'

export interface RunPlanOptions {
  /**
   * Rows of the same plan that an earlier run measured, in the order of measurement. They are not measured again.
   * Default: none.
   */
  readonly measured?: readonly ProfileRow[]
  /** Plan indices of rows that failed in an earlier run. They are measured last. Default: none. */
  readonly retries?: ReadonlySet<number>
  /** Returns whether to omit a row. Default: none is omitted. */
  readonly skips?: (planned: PlannedRow) => boolean
  /** Called before each row; returns whether to stop before it. Default: never. */
  readonly isOver?: () => boolean
  readonly signal?: AbortSignal | undefined
  /** Called before each row that is measured. */
  readonly onBegin?: (planned: PlannedRow) => void
  /** Called with each row as soon as it is measured. The row must be stored before the call returns. */
  readonly onRow: (row: ProfileRow) => void
  /** Called if the lease is refused: another program may then change the board while it is measured. */
  readonly onRefused?: (refusal: PctodlError) => void
}

/**
 * Measures a plan row by row, under one lease, so that no other program changes the board meanwhile. A plan whose rows
 * request no clock is also measured if the lease is refused, for example because the user holds the clocks with
 * `pctodl gpu lock`. At the end, including after an error or an abort, it stops the processes and restores the board's
 * settings.
 *
 * @throws InvalidInputError if the rows measured before do not belong to the plan
 * @throws PctodlError `LEASE_HELD` if a row requests a clock, and another program has the lease
 */
export async function runPlan(board: ProfiledBoard, plan: ProfilePlan, options: RunPlanOptions): Promise<void> {
  const { measured = [], skips = () => false, isOver = () => false } = options
  const { retries = new Set(), signal, onBegin, onRow, onRefused } = options
  assertOfPlan(plan, measured)
  const done = new Set(measured.map(({ row }) => row))
  const isLocking = plan.rows.some((row) => requestsClock(row) && !skips(row))
  const lease = await board.gpu.acquire().catch((error: unknown) => {
    if (isLocking || !(error instanceof PctodlError)) throw error
    onRefused?.(error)
    return null
  })
  const context: RowContext = { board, lease: isLocking ? lease : null, options: plan.measure, signal }
  try {
    // Measuring the rows again brings a new simulated board into the state that the earlier one had.
    if (board.livesInProcess) for (const { row } of measured) await measureRow(context, plan.rows[row]!, row)
    const order = [...plan.rows.entries()].sort(([a], [b]) => Number(retries.has(a)) - Number(retries.has(b)))
    for (const [i, planned] of order) {
      if (done.has(i) || skips(planned)) continue
      signal?.throwIfAborted()
      if (isOver()) break
      onBegin?.(planned)
      onRow(await measureRow(context, planned, i))
    }
  } finally {
    await board.tenants.stop().finally(() => lease?.release())
  }
}

function assertOfPlan({ rows }: ProfilePlan, measured: readonly ProfileRow[]): void {
  measured.forEach(({ row }, i) => {
    const isNext = row < rows.length && (i === 0 || row > measured[i - 1]!.row)
    if (!isNext)
      throw new InvalidInputError(`measured[${i}].row`, row, `rows of the plan's ${rows.length}, in their order`)
  })
}
