/** A stretch of the shares of one GPU under one limit on which time and power are straight lines. */
export interface CurvePiece {
  /** Shares that it holds for, inclusive; integers. */
  readonly first: number
  readonly last: number
  /** At `first`, s. */
  readonly timeS: number
  /** s for each further sample */
  readonly timeSlope: number
  /** At `first`, W. */
  readonly powerW: number
  /** W for each further sample */
  readonly powerSlope: number
}

/** Straight lines through points of a curve, in the share; the last goes on with `lastSlope`. */
export interface CurveKnots {
  /** Ascending, integers. */
  readonly shares: readonly number[]
  readonly timeS: ArrayLike<number>
  readonly powerW: ArrayLike<number>
  /** s for each sample beyond the last knot */
  readonly lastSlope: number
  /** Power is at least this and at most that, W. */
  readonly idlePowerW: number
  readonly limitW: number
}

/**
 * The pieces of a curve for the shares 1 to `last`: constant up to the first knot, straight between two, beyond the last time goes on with its
 * slope. Power bends where it meets its bounds, so that a line that crosses one is cut there.
 */
export function curvePieces(knots: CurveKnots, last: number): CurvePiece[] {
  const { shares, timeS, powerW, lastSlope } = knots
  const end = shares.length - 1
  const pieces: CurvePiece[] = []
  const add = (from: number, to: number, at: number, timeSlope: number, powerSlope: number, knot: number) => {
    const stop = Math.min(to, last)
    for (const [first, upTo] of cutAtBounds(from, stop, powerW[knot]! + powerSlope * (from - at), powerSlope, knots)) {
      const power = (share: number) => bounded(powerW[knot]! + powerSlope * (share - at), knots)
      pieces.push({
        first,
        last: upTo,
        timeS: timeS[knot]! + timeSlope * (first - at),
        timeSlope,
        powerW: power(first),
        // Its ends are on one side of each bound: it is the line, or the bound.
        powerSlope: isBounded(powerW[knot]! + powerSlope * (first - at), knots) ? 0 : powerSlope,
      })
    }
  }
  add(1, shares[0]!, shares[0]!, 0, 0, 0)
  for (let i = 1; i <= end; i++) {
    const [from, to] = [shares[i - 1]!, shares[i]!]
    const slope = (values: ArrayLike<number>) => (values[i]! - values[i - 1]!) / (to - from)
    add(from + 1, to, from, slope(timeS), slope(powerW), i - 1)
  }
  add(shares[end]! + 1, last, shares[end]!, lastSlope, 0, end)
  return pieces
}

const isBounded = (watts: number, { idlePowerW, limitW }: CurveKnots) => watts < idlePowerW || watts > limitW
const bounded = (watts: number, { idlePowerW, limitW }: CurveKnots) => Math.max(idlePowerW, Math.min(watts, limitW))

/** Runs of integer shares on which a line of power is on one side of each bound. */
function* cutAtBounds(
  first: number,
  last: number,
  powerW: number,
  slope: number,
  { idlePowerW, limitW }: CurveKnots,
): Generator<[number, number]> {
  if (first > last) return
  const crossings = slope === 0 ? [] : [idlePowerW, limitW].map((bound) => first + Math.floor((bound - powerW) / slope))
  let from = first
  for (const crossing of crossings.sort((a, b) => a - b)) {
    if (crossing < from || crossing >= last) continue
    yield [from, crossing]
    from = crossing + 1
  }
  yield [from, last]
}
