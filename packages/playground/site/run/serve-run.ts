import type { PacedRun } from './paced-run.js'
import type { RunFrame, RunOutcome } from './run-frame.js'
import type { CapFrom, Disturbance } from './run-question.js'

/** What a page does to a run that goes on. */
export type RunControl =
  | { readonly pace: number }
  /** Stand still, so that several runs can be told of one time; or go on. */
  | { readonly hold: boolean }
  | { readonly caps: readonly CapFrom[] }
  | { readonly disturb: Disturbance }
  /** More requests of all services, from so many seconds on. */
  | { readonly burst: number }

/** Milliseconds between two looks at how far a run may go. */
const TURN_MS = 25
/** A page in the background must not find a run that has run away. */
const LONGEST_TURN_MS = 250

/** The run that this worker has in hand: each has one. */
let running: { readonly run: PacedRun; pace: number; allowedMs: number; isHeld: boolean } | undefined

/**
 * Run at a pace that can be changed, seconds of the run in a second; 0 stands still.
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
      // Where the machine is slower than the pace, what was missed is not made up for.
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

/** @returns where the run has come to, ms; 0 where there is none */
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

/** What was allowed at another pace is not any more. */
function stop(mine: { readonly run: PacedRun; allowedMs: number }): void {
  mine.run.hold()
  mine.allowedMs = mine.run.timeMs
}

/** The record so far; empty before there is a run. */
export function recordOfRun(): string {
  return running?.run.record() ?? ''
}
