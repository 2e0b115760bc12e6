import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { measureRow, type RowContext } from './measure/measure-row.js'
import type { ProfileRow } from './measure/profile-row.js'
import type { ProfiledBoard } from './measure/profiled-board.js'
import { type PlannedRow, type ProfilePlan, requestsClock } from './plan/profile-plan.js'

export interface RunPlanOptions {
  /** Rows of the same plan that an earlier run measured, in the order of measurement. Default: none. */
  readonly measured?: readonly ProfileRow[]
  /** Plan indices of the rows to measure, in this order. Default: those that are not in `measured`. */
  readonly left?: readonly number[]
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
  const { measured = [], isOver = () => false, signal, onBegin, onRow, onRefused } = options
  assertOfPlan(plan, measured)
  const done = new Set(measured.map(({ row }) => row))
  const { left = [...plan.rows.keys()].filter((row) => !done.has(row)) } = options
  const isLocking = left.some((row) => requestsClock(plan.rows[row]!))
  const lease = await board.gpu.acquire().catch((error: unknown) => {
    if (isLocking || !(error instanceof PctodlError)) throw error
    onRefused?.(error)
    return null
  })
  const context: RowContext = { board, lease: isLocking ? lease : null, options: plan.measure, signal }
  try {
    // Measuring the rows again brings a new simulated board into the state that the earlier one had.
    if (board.livesInProcess) for (const { row } of measured) await measureRow(context, plan.rows[row]!, row)
    for (const row of left) {
      signal?.throwIfAborted()
      if (isOver()) break
      onBegin?.(plan.rows[row]!)
      onRow(await measureRow(context, plan.rows[row]!, row))
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
