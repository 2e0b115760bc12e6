import type { Calibration } from '../parameters.js'
import { feature } from '../uncertainty/calibration-layout.js'
import { weightsOf } from '../uncertainty/error-features.js'
import type { ErrorCollector } from './fit-report.js'

/** What was known before counts as at least and at most so many rows: new rows are then seldom all, and never nothing. */
const LEAST_ROWS = 20
const MOST_ROWS = 100
/** An error counts as at most so many standard deviations, so that one outlier does not double all of them. */
const MOST_SDS = 6

/**
 * The calibration after new rows, each row's error being that of the model before it took account of the row, so that none is
 * judged by what it was fitted to. Mean squares in standard deviations are weighed by rows, the earlier ones as at most a hundred:
 * after a change of the board the standard deviations rise at once, and fall again as later refits predict it better.
 *
 * @param networks that the errors' features are of
 */
export function updatedCalibration(
  calibrations: readonly Calibration[],
  errorsBefore: ErrorCollector,
  networks: readonly string[],
): Calibration[] {
  return calibrations.map((entry) => {
    const weights = weightsOf(entry, networks)
    const errors = errorsBefore.errorsOf(entry.quantity)
    if (errors.length === 0) return entry
    const before = Math.min(MOST_ROWS, Math.max(LEAST_ROWS, entry.count))
    const squares = errors.reduce((sum, { error, features }) => {
      const sd = Math.exp(features.reduce((all, value, j) => all + weights[j]! * value, 0))
      return sum + Math.min(MOST_SDS, Math.abs(error) / sd) ** 2
    }, before)
    const growth = 0.5 * Math.log(squares / (before + errors.length))
    const moved = entry.weights.map((weight, j) => (j === feature.one ? Number((weight + growth).toFixed(4)) : weight))
    return { ...entry, count: entry.count + errors.length, weights: moved }
  })
}
