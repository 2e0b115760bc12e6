import type { PowerSignal } from './power-signal.js'

/**
 * Share of a window for which power must be known; with less, the average is undefined. This occurs at the start of a
 * run and in gaps.
 */
export const MIN_KNOWN_SHARE = 0.5

/**
 * Called for one piece of a trailing window's path, from `startMs` to `endMs`. Over a piece, the energy and the known
 * time in the window are linear. Comparing the average `energy / known` with a constant is therefore exact: the sign of
 * `energy - constant * known` changes at most once.
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
 * Moves a trailing window over the whole signal, piece by piece. A piece ends when a step of the signal enters or
 * leaves the window. The time is linear in the number of steps.
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

/** Trailing average at the end of every step, W; NaN if too little of the window is known. */
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
 * Shares of a piece, from 0 to 1, between which a linear function from `first` to `last` is positive. If it is positive
 * nowhere, the range is from 1 to 0.
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
