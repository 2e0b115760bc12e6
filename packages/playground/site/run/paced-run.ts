import type { RunFrame, RunOutcome } from './run-frame.js'
import type { CapFrom, Disturbance } from './run-question.js'

/** A run in virtual time that goes no further than it is let, and to which things can be done meanwhile. */
export interface PacedRun {
  /** Where the run has come to, ms. */
  readonly timeMs: number
  /** Let it go on to a time, ms. */
  allow(untilMs: number): void
  /** Stand still. */
  hold(): void
  /** The caps from now on, those of the past included. */
  changeCaps(caps: readonly CapFrom[]): void
  /** What comes at a time that has passed strikes at once. */
  disturb(disturbance: Disturbance): void
  /** More requests from a time on, s; of runs of services. */
  burst?(atS: number): void
  /** What has happened since the last call; undefined where nothing has. */
  frame(): RunFrame | undefined
  /** All that was seen and decided so far, as the log of `pctodl run`: a line of JSON for each event. */
  record(): string
  /** Run to the end. @throws what its policy throws; the signal's reason */
  run(signal: AbortSignal): Promise<RunOutcome>
}
