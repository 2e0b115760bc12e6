import { MIN_KNOWN_SHARE, positiveFrom, positiveTo, walkWindow } from './moving-average.js'
import type { PowerSignal } from './power-signal.js'

/** Time that power took to settle after a change of the cap. */
export interface SettlingTime {
  /** Time of the cap change since the start of the run, ms. */
  readonly atMs: number
  readonly fromW: number
  readonly toW: number
  /**
   * Time from the change until the 1 s average enters the band and stays there for the holding time, ms. Null if this
   * does not happen before the next change or the end of the run. Also null if the load draws less than the cap,
   * because power then need not reach the band.
   */
  readonly settlingMs: number | null
}

/** Band in which power counts as settled: from cap * (1 - below) to cap * (1 + above), for `holdMs`. */
export interface SettlingBand {
  readonly below: number
  readonly above: number
  readonly holdMs: number
}

/** Prevents rounding errors from moving a power exactly at the edge out of the band. */
const EDGE = 1e-9

/** Settling time of the moving average after each change of the cap, in order of time. */
export function settlingTimes(signal: PowerSignal, windowMs: number, band: SettlingBand): SettlingTime[] {
  const found: SettlingTime[] = []
  const minKnownMs = windowMs * MIN_KNOWN_SHARE
  let capW = signal.steps > 0 ? signal.capW[0]! : 0
  let change: { atMs: number; fromW: number; settlingMs: number | null } | undefined
  let insideSinceMs: number | undefined

  const close = () => {
    if (change !== undefined) found.push({ ...change, toW: capW })
  }
  walkWindow(signal, windowMs, (startMs, endMs, energyStart, energyEnd, knownStart, knownEnd, pieceCapW) => {
    if (pieceCapW !== capW) {
      close()
      change = { atMs: startMs, fromW: capW, settlingMs: null }
      capW = pieceCapW
      insideSinceMs = undefined
    }
    if (change === undefined || change.settlingMs !== null) return
    const top = capW * (1 + band.above) * (1 + EDGE)
    const bottom = capW * (1 - band.below) * (1 - EDGE)
    const marginStart = top * knownStart - energyStart
    const marginEnd = top * knownEnd - energyEnd
    const floorStart = energyStart - bottom * knownStart
    const floorEnd = energyEnd - bottom * knownEnd
    const seenStart = knownStart - minKnownMs
    const seenEnd = knownEnd - minKnownMs
    const from = Math.max(
      positiveFrom(marginStart, marginEnd),
      positiveFrom(floorStart, floorEnd),
      positiveFrom(seenStart, seenEnd),
    )
    const to = Math.min(
      positiveTo(marginStart, marginEnd),
      positiveTo(floorStart, floorEnd),
      positiveTo(seenStart, seenEnd),
    )
    if (from >= to) {
      insideSinceMs = undefined
      return
    }
    const spanMs = endMs - startMs
    if (insideSinceMs === undefined || from > 0) insideSinceMs = startMs + from * spanMs
    if (startMs + to * spanMs - insideSinceMs >= band.holdMs) change.settlingMs = insideSinceMs - change.atMs
    else if (to < 1) insideSinceMs = undefined
  })
  close()
  return found
}
