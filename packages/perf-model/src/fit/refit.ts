import { assertKnownOptions, InvalidInputError, type TraceRow } from '@pctodl/platform'
import { assertModel, PerfModel } from '../perf-model.js'
import { ErrorModel } from '../uncertainty/error-model.js'
import { traceTable } from './trace-table.js'

/** A measured power that differs from the predicted one by a larger factor has another unit, or is of another board. */
const MAX_POWER_ERROR = Math.log(6)

export interface RefitOptions {
  /**
   * Forget the certainty gained from earlier rows, for example after a new driver or in another season. The learnt mean
   * stays, but new rows move it as easily as the first rows did. Default false.
   */
  readonly forget?: boolean
}

/**
 * Update a model with a few new rows of one board, while the board is in use. The board's difference from the equations
 * is learnt. Ten calls with one row each give the same result as one call with ten rows, unless one of the rows is far
 * from the others: only a call with several rows recognises it and gives it less weight. The equations stay unchanged. Only the predictions of throughput, latency and power change, and their standard deviations
 * shrink. The given model is not changed.
 *
 * @throws UnknownNameError for a network that the model does not know
 * @throws InvalidInputError if no row is usable, for a memory clock that the model does not know, or for a power that
 * cannot be in W
 */
export function refit(model: PerfModel, newRows: readonly TraceRow[], options: RefitOptions = {}): PerfModel {
  assertKnownOptions('options', options, ['forget'])
  assertModel(model)
  const { forget = false } = options
  if (typeof forget !== 'boolean') throw new InvalidInputError('forget', forget, 'true or false')
  const { parameters, spec, memClocksMhz, networks } = model
  const rows = traceTable(newRows, spec, { memClocksMhz }).rows.map(({ row }) => ({
    row,
    terms: model.errorTerms(row),
  }))
  const errors = parameters.errors.map((state) => {
    const before = forget ? { ...state, covariance: [] } : state
    const observed = rows.map(({ row, terms }) => {
      const { predicted, phi, residual } = terms[state.quantity]
      const isPower = state.quantity === 'power'
      const error = Math.log((isPower ? row.powerAverageW : row.throughput) / predicted)
      if (isPower && Math.abs(error) > MAX_POWER_ERROR) {
        const expected = `W, within a factor of 6 of the predicted ${predicted.toFixed(0)} W; correct or remove the row`
        throw new InvalidInputError(`rows[${newRows.indexOf(row)}].powerAverageW`, row.powerAverageW, expected)
      }
      return { phi, residual, error }
    })
    return new ErrorModel(before, networks).updated(observed)
  })
  const { provenance } = parameters
  return new PerfModel({ ...parameters, provenance: { ...provenance, refits: provenance.refits + 1 }, errors }, spec)
}
