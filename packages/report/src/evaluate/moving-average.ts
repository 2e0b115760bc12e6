import type { PowerSignal } from './power-signal.js'

/**
 * Minimum fraction of a window for which power must be known. Otherwise the average is undefined, for example at the
 * start of a run or in gaps.
 */
export const MIN_KNOWN_SHARE = 0.5

/**
 * Called for each piece of a window's movement over a signal. During a piece, the end of the window moves from
 * `startMs` to `endMs`. The energy in the window and the time with known power are then linear functions of time. So
 * the average power crosses a given level at most once, and the time above the level can be computed exactly.
 *
 * @param energyStart energy in the window that ends at `startMs`, W·ms
 * @param knownStart time with known power in the window that ends at `startMs`, ms
 */
export type PieceVisitor = (
  startMs: number,
  endMs: number,
  energyStart: number,
  energyEnd: number,
  knownStart: number,
  knownEnd: number,
  capW: number,
) => void

/**
 * Moves a window over the whole signal, piece by piece. A piece ends when the start or the end of the window reaches a
 * sample. The computing time is linear in the number of samples.
 *
 * @param windowMs length of the window, ms; above 0
 */
export function walkWindow(signal: PowerSignal, windowMs: number, visit: PieceVisitor): void {
  const { steps, knotsMs } = signal
  let lead = 0
  let trail = -1
  let startMs = 0
  let energyStart = 0
  let knownStart = 0
  while (lead < steps) {
    const leadEndMs = knotsMs[lead + 1]!
    const trailEndMs = knotsMs[trail + 1]! + windowMs
    const endMs = Math.min(leadEndMs, trailEndMs)
    const energyEnd = energyAt(signal, lead, endMs) - energyAt(signal, trail, endMs - windowMs)
    const knownEnd = knownAt(signal, lead, endMs) - knownAt(signal, trail, endMs - windowMs)
    if (endMs > startMs) visit(startMs, endMs, energyStart, energyEnd, knownStart, knownEnd, signal.capW[lead]!)
    startMs = endMs
    energyStart = energyEnd
    knownStart = knownEnd
    if (leadEndMs <= endMs) lead++
    if (trailEndMs <= endMs) trail++
  }
}

/**
 * Returns the average over the window that ends at each step of the signal, W; NaN if power is known for too little of
 * the window.
 */
export function movingAverageW(signal: PowerSignal, windowMs: number): Float64Array {
  const averages = new Float64Array(signal.steps).fill(Number.NaN)
  const minKnownMs = windowMs * MIN_KNOWN_SHARE
  let step = 0
  walkWindow(signal, windowMs, (_startMs, endMs, _energyStart, energyEnd, _knownStart, knownEnd) => {
    if (endMs < signal.knotsMs[step + 1]!) return
    if (knownEnd >= minKnownMs) averages[step] = energyEnd / knownEnd
    step++
  })
  return averages
}

/**
 * Returns the part of a piece in which a linear function is positive, as two numbers from 0 to 1. The function goes
 * from `first` to `last`. If it is positive nowhere, the part starts at 1 and ends at 0.
 */
export function positivePart(first: number, last: number): readonly [from: number, to: number] {
  const crossing = first / (first - last)
  return [first > 0 ? 0 : last > 0 ? crossing : 1, last > 0 ? 1 : first > 0 ? crossing : 0]
}

/** The part in which all of these linear functions are positive. */
export function commonPart(...parts: readonly (readonly [number, number])[]): readonly [from: number, to: number] {
  return [Math.max(...parts.map(([from]) => from)), Math.min(...parts.map(([, to]) => to))]
}

function energyAt(signal: PowerSignal, step: number, timeMs: number): number {
  if (step < 0) return 0
  return signal.energyUntil[step]! + signal.powerW[step]! * (timeMs - signal.knotsMs[step]!)
}

function knownAt(signal: PowerSignal, step: number, timeMs: number): number {
  if (step < 0) return 0
  return signal.knownUntilMs[step]! + signal.known[step]! * (timeMs - signal.knotsMs[step]!)
}
