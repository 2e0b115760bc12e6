import { modelNamed } from '../work/models.js'
import type { RunFrame, RunOutcome } from './run-frame.js'
import type { CapFrom, Disturbance, PolicyName, RunQuestion } from './run-question.js'
import { SimulatedRun } from './simulated-run.js'

/** What a page does to a run that goes on. */
export type RunControl =
  | { readonly pace: number }
  /** Stand still, so that several runs can be told of one time; or go on. */
  | { readonly hold: boolean }
  | { readonly caps: readonly CapFrom[] }
  | { readonly disturb: Disturbance }

/** Milliseconds between two looks at how far a run may go. */
const TURN_MS = 25
/** A page in the background must not find a run that has run away. */
const LONGEST_TURN_MS = 250

/** The run that this worker has in hand: each has one. */
let running: { readonly run: SimulatedRun; pace: number; allowedMs: number; isHeld: boolean } | undefined

/**
 * Run at a pace that can be changed, seconds of the run in a second; 0 stands still.
 *
 * @throws what `SimulatedRun` throws
 */
export async function serveRun(
  { question, policy, pace }: { question: RunQuestion; policy: PolicyName; pace: number },
  { signal, progress }: { signal: AbortSignal; progress: (frame: RunFrame) => void },
): Promise<RunOutcome> {
  const run = new SimulatedRun(question, policy, modelNamed(question.board))
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
  else run.disturb(control.disturb)
  return run.timeMs
}

/** What was allowed at another pace is not any more. */
function stop(mine: { readonly run: SimulatedRun; allowedMs: number }): void {
  mine.run.hold()
  mine.allowedMs = mine.run.timeMs
}

/** The record so far; empty before there is a run. */
export function recordOfRun(): string {
  return running?.run.record() ?? ''
}
