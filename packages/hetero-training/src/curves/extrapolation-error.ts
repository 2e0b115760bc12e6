/**
 * Extends a curve with `values` at `batches[0..end]` to a larger share.
 *
 * @param end at least 1
 */
export type Continuation = (batches: readonly number[], values: ArrayLike<number>, end: number, share: number) => number

/** Continues with the last slope, or flat if the last slope is negative. */
export const continuedLine: Continuation = (batches, values, end, share) => {
  const slope = (values[end]! - values[end - 1]!) / (batches[end]! - batches[end - 1]!)
  return values[end]! + Math.max(0, slope) * (share - batches[end]!)
}

/** Repeats the last value. */
export const continuedFlat: Continuation = (_, values, end) => values[end]!

/**
 * Minimum relative error per factor e (2.718) beyond the profile, even if the profile shows less or is too short. What
 * changes beyond a profile (kernels, caches, memory) may leave no trace within it. With the four published traces cut
 * short, 62 of 64 removed measurements lie within two standard deviations at this value, 54 at 0.05.
 */
const MIN_ERROR = 0.15

/**
 * Estimates the extrapolation error: a relative standard deviation per factor e between the last profiled batch size
 * and the share. The profile is cut off at every batch size but the last, extrapolated to each removed one, and
 * compared. The result is the root mean square of ln(true / extrapolated) / ln(share / last profiled) over all limits.
 *
 * @param rows a curve over `batches` for each limit
 */
export function extrapolationError(
  batches: readonly number[],
  rows: readonly ArrayLike<number>[],
  continuation: Continuation,
): number {
  let squares = 0
  let count = 0
  for (const values of rows) {
    for (let end = 1; end < batches.length - 1; end++) {
      for (let beyond = end + 1; beyond < batches.length; beyond++) {
        const continued = continuation(batches, values, end, batches[beyond]!)
        squares += (Math.log(values[beyond]! / continued) / Math.log(batches[beyond]! / batches[end]!)) ** 2
        count++
      }
    }
  }
  return Math.max(MIN_ERROR, count === 0 ? 0 : Math.sqrt(squares / count))
}

/**
 * Relative error of a curve below the smallest batch size. The curve is constant there; without any fixed part it would
 * instead keep falling along its first line. All values between these extremes are equally likely, so the error is the
 * root mean square of the relative distance.
 */
export function errorBelow(
  [first = 1, second = 2]: readonly number[],
  values: ArrayLike<number>,
  share: number,
): number {
  const slope = Math.max(0, (values[1]! - values[0]!) / (second - first))
  return (slope * (first - share)) / (Math.sqrt(3) * values[0]!)
}
