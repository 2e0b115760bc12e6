import { type CapSchedule, capSchedule } from '@pctodl/platform'

/** Length of an iteration, ms. */
export const WINDOW_MS = 5000

/**
 * Power caps that change during a run: `capsW[k]` applies from iteration `switchAtIteration[k]` on, counted from 0.
 */
export interface IterationSchedule {
  readonly capsW: readonly number[]
  readonly switchAtIteration: readonly number[]
}

/** Number of iterations of a published schedule: 50 for each of its caps. */
export const SCHEDULED_ITERATIONS = 150

/** The two cap schedules of the PctoDL paper, which its tasks 29 and 30 use. */
export const publishedSchedules: Readonly<Record<'down' | 'up', IterationSchedule>> = {
  down: { capsW: [200, 160, 120], switchAtIteration: [0, 50, 100] },
  up: { capsW: [130, 180, 230], switchAtIteration: [0, 50, 100] },
}

/** Converts a schedule by iteration to a schedule by time. */
export function capsByIteration({ capsW, switchAtIteration }: IterationSchedule): CapSchedule {
  return capSchedule(capsW.map((powerCapW, i) => ({ atMs: switchAtIteration[i]! * WINDOW_MS, powerCapW })))
}
