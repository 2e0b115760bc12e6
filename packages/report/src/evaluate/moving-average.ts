import type { PowerSignal } from './power-signal.js'

/**
 * Fraction of a window for which power must be known. Below it, as at the start of a run or in gaps, the average is
 * undefined.
 */
export const MIN_KNOWN_SHARE = 0.5

/**
 * Called for one piece of the path of a moving window, while the window's end moves from `startMs` to `endMs`. In a
 * piece, the energy in the window and the time with known power are linear functions of time. So `energy - constant *
 * known` changes its sign at most once, and comparing the average power with a constant is exact.
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
 * Moves a window over the whole signal, piece by piece. A piece ends when a step of the signal enters or leaves the
 * window. The computing time is linear in the number of steps.
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
 * Average over the window that ends at each step of the signal, W; NaN if power is known for too little of the window.
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
 * Part of a piece, as a range within 0..1, in which a linear function from `first` to `last` is positive. If it is
 * positive nowhere, the range is from 1 to 0.
 */
export function positiveFrom(first: number, last: number): number {
  if (first > 0) return 0
  return last > 0 ? first / (first - last) : 1
}

export function positiveTo(first: number, last: number): number {
  if (last > 0) return 1
  return first > 0 ? first / (first - last) : 0
}

function energyAt(signal: PowerSignal, step: number, timeMs: number): number {
  if (step < 0) return 0
  return signal.energyUntil[step]! + signal.powerW[step]! * (timeMs - signal.knotsMs[step]!)
}

function knownAt(signal: PowerSignal, step: number, timeMs: number): number {
  if (step < 0) return 0
  return signal.knownUntilMs[step]! + signal.known[step]! * (timeMs - signal.knotsMs[step]!)
}
