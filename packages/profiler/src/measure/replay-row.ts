import type { PlannedRow } from '../plan/profile-plan.js'
import { applyRow, type RowContext } from './measure-row.js'
import type { ProfileRow } from './profile-row.js'

/**
 * Replays a measured row on a board that exists only in this process. It applies the same settings and processes with
 * the same waits, so temperature, noise and processes end up identical to the last bit.
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
  // Sleeps one sample at a time: a single long sleep would round differently from the sum of short ones.
  for (let i = Math.round(durationMs / options.sampleMs); i > 0; i--) await board.clock.sleep(options.sampleMs, signal)
}
