import { InvalidInputError } from './errors.js'

/** A power cap and the time from which it applies. */
export interface CapStep {
  /** Time since the start of the run, ms. */
  readonly atMs: number
  readonly powerCapW: number
}

/** Power caps over time. Times ascend and the first one is 0. */
export type CapSchedule = readonly CapStep[]

export function fixedCap(powerCapW: number): CapSchedule {
  return capSchedule([{ atMs: 0, powerCapW }])
}

/**
 * Checks a schedule and returns it.
 *
 * @throws InvalidInputError unless times start at 0 and ascend, and caps are positive
 */
export function capSchedule(steps: readonly CapStep[]): CapSchedule {
  if (!Array.isArray(steps)) throw new InvalidInputError('capSchedule', steps, 'a list of { atMs, powerCapW }')
  if (steps[0]?.atMs !== 0) throw new InvalidInputError('capSchedule[0].atMs', steps[0]?.atMs, '0')
  for (const [i, step] of steps.entries()) {
    if (!(Number.isFinite(step?.powerCapW) && step.powerCapW > 0)) {
      throw new InvalidInputError(`capSchedule[${i}].powerCapW`, step?.powerCapW, 'a positive number of watts')
    }
    if (i > 0 && !(typeof step.atMs === 'number' && step.atMs > steps[i - 1]!.atMs)) {
      throw new InvalidInputError(`capSchedule[${i}].atMs`, step.atMs, 'a time after the step before it')
    }
  }
  return steps
}

/** Returns the cap in force at `timeMs`, W. */
export function capAt(schedule: CapSchedule, timeMs: number): number {
  let powerCapW = schedule[0]!.powerCapW
  for (const step of schedule) if (step.atMs <= timeMs) powerCapW = step.powerCapW
  return powerCapW
}
