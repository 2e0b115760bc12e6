import type { PlannedRow } from '../plan/profile-plan.js'
import { applyRow, type RowContext } from './measure-row.js'
import type { ProfileRow } from './profile-row.js'

/**
 * Repeats a measured row on a board that exists only in this process: the same settings and processes, with the same
 * waits. The board then has the same temperature, noise and processes as when the row was measured, to the last bit.
 */
export async function replayRow(context: RowContext, planned: PlannedRow, measured: ProfileRow): Promise<void> {
  const { board } = context
  if (measured.coolDownMs > 0) {
    await board.tenants.stop()
    await passTime(context, measured.coolDownMs)
  }
  await applyRow(context, planned)
  await passTime(context, measured.settleMs + measured.windowMs)
}

async function passTime({ board, options, signal }: RowContext, durationMs: number): Promise<void> {
  // Sleeps in steps of one sample, as in the measurement: the sum of short sleeps rounds differently from one long
  // sleep.
  for (let i = Math.round(durationMs / options.sampleMs); i > 0; i--) await board.clock.sleep(options.sampleMs, signal)
}
