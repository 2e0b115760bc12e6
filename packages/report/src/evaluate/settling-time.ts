import { commonPart, MIN_KNOWN_SHARE, positivePart, walkWindow } from './moving-average.js'
import { EXCESS_TOLERANCE } from './power-metrics.js'
import type { PowerSignal } from './power-signal.js'

/** Time that power took to settle after a change of the cap. */
export interface SettlingTime {
  /** Time of the cap change since the start of the run, ms. */
  readonly atMs: number
  readonly fromW: number
  readonly toW: number
  /**
   * Time from the change until the 1 s average settles, ms. Null if it does not settle before the next change or the end
   * of the run, as for a load that draws less than the cap.
   */
  readonly settlingMs: number | null
}

/** Power counts as settled if its 1 s average stays between 95 and 101 % of the cap for half a minute. */
const BELOW = 0.05
const HOLD_MS = 30_000
const WINDOW_MS = 1000

/** Prevents rounding errors from placing a power exactly at the edge of the band outside the band. */
const EDGE = 1e-9

/** Settling time of the 1 s average after each change of the cap, in order of time. */
export function settlingTimes(signal: PowerSignal): SettlingTime[] {
  const found: SettlingTime[] = []
  const minKnownMs = WINDOW_MS * MIN_KNOWN_SHARE
  let capW = signal.steps > 0 ? signal.capW[0]! : 0
  let change: { atMs: number; fromW: number; settlingMs: number | null } | undefined
  let insideSinceMs: number | undefined

  const close = () => {
    if (change !== undefined) found.push({ ...change, toW: capW })
  }
  walkWindow(signal, WINDOW_MS, (startMs, endMs, energyStart, energyEnd, knownStart, knownEnd, pieceCapW) => {
    if (pieceCapW !== capW) {
      close()
      change = { atMs: startMs, fromW: capW, settlingMs: null }
      capW = pieceCapW
      insideSinceMs = undefined
    }
    if (change === undefined || change.settlingMs !== null) return
    const top = capW * (1 + EXCESS_TOLERANCE) * (1 + EDGE)
    const bottom = capW * (1 - BELOW) * (1 - EDGE)
    const [from, to] = commonPart(
      positivePart(top * knownStart - energyStart, top * knownEnd - energyEnd),
      positivePart(energyStart - bottom * knownStart, energyEnd - bottom * knownEnd),
      positivePart(knownStart - minKnownMs, knownEnd - minKnownMs),
    )
    if (from >= to) {
      insideSinceMs = undefined
      return
    }
    const spanMs = endMs - startMs
    if (insideSinceMs === undefined || from > 0) insideSinceMs = startMs + from * spanMs
    if (startMs + to * spanMs - insideSinceMs >= HOLD_MS) change.settlingMs = insideSinceMs - change.atMs
    else if (to < 1) insideSinceMs = undefined
  })
  close()
  return found
}
