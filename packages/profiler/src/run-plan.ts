import { InvalidInputError } from '@pctodl/platform'
import { measureRow, type RowContext } from './measure/measure-row.js'
import type { ProfileRow } from './measure/profile-row.js'
import type { ProfiledBoard } from './measure/profiled-board.js'
import { replayRow } from './measure/replay-row.js'
import type { PlannedRow, ProfilePlan } from './plan/profile-plan.js'

export interface RunPlanOptions {
  /** Rows of the same plan that an earlier run has measured; they must be its first ones. Default: none. */
  readonly measured?: readonly ProfileRow[]
  /** Leave clocks alone and take no lease; for plans that ask for no clock. Default false. */
  readonly leaveClocksAlone?: boolean
  readonly signal?: AbortSignal | undefined
  /** Called before each row that is measured. */
  readonly onBegin?: (planned: PlannedRow, row: number) => void
  /** Called with each row as soon as it is measured; keep it before returning. */
  readonly onRow: (row: ProfileRow) => void
}

/**
 * Measure a plan, row by row, under one lease. However it ends, processes are stopped and the board's settings put back.
 *
 * @throws InvalidInputError where the rows measured before are not the plan's first ones, or the plan asks for clocks that may
 *   not be touched
 * @throws PctodlError `LEASE_HELD` while someone else holds the board
 */
export async function runPlan(board: ProfiledBoard, plan: ProfilePlan, options: RunPlanOptions): Promise<void> {
  const { measured = [], leaveClocksAlone = false, signal, onBegin, onRow } = options
  assertBeginning(plan, measured)
  if (leaveClocksAlone) assertNoClocks(plan)
  const lease = leaveClocksAlone ? null : await board.gpu.acquire()
  const context: RowContext = { board, lease, options: plan.measure, signal }
  try {
    if (board.livesInProcess) {
      for (const [i, row] of measured.entries()) await replayRow(context, plan.rows[i]!, row)
    }
    for (let i = measured.length; i < plan.rows.length; i++) {
      signal?.throwIfAborted()
      const planned = plan.rows[i]!
      onBegin?.(planned, i)
      onRow(await measureRow(context, planned, i))
    }
  } finally {
    try {
      await board.tenants.stop()
    } finally {
      await lease?.release()
    }
  }
}

function assertBeginning(plan: ProfilePlan, measured: readonly ProfileRow[]): void {
  if (measured.length > plan.rows.length) {
    throw new InvalidInputError('measured rows', measured.length, `at most the ${plan.rows.length} of the plan`)
  }
  measured.forEach((row, i) => {
    if (row.row !== i)
      throw new InvalidInputError(`measured[${i}].row`, row.row, `${i}: a trace begins as its plan does`)
  })
}

function assertNoClocks({ rows }: ProfilePlan): void {
  const i = rows.findIndex((row) => row.smClockMhz !== null || row.memClockMhz !== null)
  if (i < 0) return
  const { smClockMhz, memClockMhz } = rows[i]!
  throw new InvalidInputError(`rows[${i}]`, { smClockMhz, memClockMhz }, 'no clocks where they must be left alone')
}
