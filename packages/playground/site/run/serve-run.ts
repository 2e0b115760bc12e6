import type { PacedRun } from './paced-run.js'
import type { RunFrame, RunOutcome } from './run-frame.js'
import type { CapFrom, Disturbance } from './run-question.js'

/** The ways in which the page can change a run in progress. */
export type RunControl =
  | { readonly pace: number }
  /** True pauses the run, so that several runs can be changed at the same time; false continues it. */
  | { readonly hold: boolean }
  | { readonly caps: readonly CapFrom[] }
  | { readonly disturb: Disturbance }
  /** Adds a burst of requests for all services from this time on, s. */
  | { readonly burst: number }

/** Interval between updates of the allowed virtual time, ms. */
const TURN_MS = 25
/**
 * Maximum real time for which one update lets the run advance, ms. Without it, a run in a background page would jump
 * ahead.
 */
const LONGEST_TURN_MS = 250

/** The present run of this worker, which has at most one. */
let running: { readonly run: PacedRun; pace: number; allowedMs: number; isHeld: boolean } | undefined

/**
 * Runs at an adjustable pace, in simulated seconds per second; 0 pauses.
 *
 * @throws the errors of the run
 */
export async function serveRun(
  run: PacedRun,
  pace: number,
  { signal, progress }: { signal: AbortSignal; progress: (frame: RunFrame) => void },
): Promise<RunOutcome> {
  const mine = { run, pace, allowedMs: 0, isHeld: false }
  running = mine
  let lastMs = performance.now()
  const turn = () => {
    const nowMs = performance.now()
    const sinceMs = Math.min(LONGEST_TURN_MS, nowMs - lastMs)
    lastMs = nowMs
    if (mine.pace > 0 && !mine.isHeld) {
      // If the machine is too slow for the pace, the run does not catch up later.
      const most = run.timeMs + 1000 + LONGEST_TURN_MS * mine.pace
      mine.allowedMs = Math.min(mine.allowedMs + sinceMs * mine.pace, most)
      run.allow(mine.allowedMs)
    }
    const frame = run.frame()
    if (frame) progress(frame)
  }
  const timer = setInterval(turn, TURN_MS)
  turn()
  try {
    return await run.run(signal)
  } finally {
    clearInterval(timer)
    const frame = run.frame()
    if (frame) progress(frame)
  }
}

/**
 * Changes the present run.
 * @returns its virtual time, ms; 0 if there is no run
 */
export function controlRun(control: RunControl): number {
  if (!running) return 0
  const { run } = running
  if ('pace' in control) {
    running.pace = control.pace
    stop(running)
  } else if ('hold' in control) {
    running.isHeld = control.hold
    stop(running)
  } else if ('caps' in control) run.changeCaps(control.caps)
  else if ('disturb' in control) run.disturb(control.disturb)
  else run.burst(control.burst)
  return run.timeMs
}

/** Stops the run at its present time, and cancels the time that it was allowed to run on. */
function stop(mine: { readonly run: PacedRun; allowedMs: number }): void {
  mine.run.hold()
  mine.allowedMs = mine.run.timeMs
}

/** Returns the log of the present run so far; empty if there is no run. */
export function recordOfRun(): string {
  return running?.run.record() ?? ''
}
