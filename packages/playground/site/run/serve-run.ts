import type { PacedRun } from './paced-run.js'
import type { RunFrame, RunOutcome } from './run-frame.js'
import type { CapFrom, Disturbance } from './run-question.js'

/** The ways in which a page can change a running run. */
export type RunControl =
  | { readonly pace: number }
  /** Pause, so that several runs can be changed at one time, or continue. */
  | { readonly hold: boolean }
  | { readonly caps: readonly CapFrom[] }
  | { readonly disturb: Disturbance }
  /** More requests for all services from a time on, s. */
  | { readonly burst: number }

/** Interval between updates of the allowed time, ms. */
const TURN_MS = 25
/** A page in the background must not find that a run has raced ahead. */
const LONGEST_TURN_MS = 250

/** The present run of this worker; each worker has one. */
let running: { readonly run: PacedRun; pace: number; allowedMs: number; isHeld: boolean } | undefined

/**
 * Run at an adjustable pace, simulated seconds per second; 0 pauses.
 *
 * @throws what the run throws
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
      // If the machine is slower than the pace, lost time is not caught up.
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

/** @returns the time of the run, ms; 0 if there is none */
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

/** Time allowed at another pace no longer counts. */
function stop(mine: { readonly run: PacedRun; allowedMs: number }): void {
  mine.run.hold()
  mine.allowedMs = mine.run.timeMs
}

/** The record so far; empty before there is a run. */
export function recordOfRun(): string {
  return running?.run.record() ?? ''
}
