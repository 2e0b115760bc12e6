import { type CapSchedule, capSchedule } from '@pctodl/platform'

/** Length of an iteration, ms. */
export const WINDOW_MS = 5000

/** Power caps that change in the course of a run: `capsW[k]` holds from iteration `switchAtIteration[k]` (0-based) on. */
export interface IterationSchedule {
  readonly capsW: readonly number[]
  readonly switchAtIteration: readonly number[]
}

/** Iterations that a published schedule takes: 50 for each of its caps. */
export const SCHEDULED_ITERATIONS = 150

/** The two cap schedules of the PctoDL paper, tasks 29 and 30 of its matrix. */
export const publishedSchedules: Readonly<Record<'down' | 'up', IterationSchedule>> = {
  down: { capsW: [200, 160, 120], switchAtIteration: [0, 50, 100] },
  up: { capsW: [130, 180, 230], switchAtIteration: [0, 50, 100] },
}

/** A schedule by time stamp, given the length of an iteration. */
export function capsByIteration({ capsW, switchAtIteration }: IterationSchedule, windowMs: number): CapSchedule {
  return capSchedule(capsW.map((powerCapW, i) => ({ atMs: switchAtIteration[i]! * windowMs, powerCapW })))
}
