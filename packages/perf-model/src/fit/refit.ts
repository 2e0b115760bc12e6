import { assertKnownOptions, InvalidInputError, type TraceRow } from '@pctodl/platform'
import { assertModel, PerfModel } from '../perf-model.js'
import { ErrorModel } from '../uncertainty/error-model.js'
import { traceTable } from './trace-table.js'

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
 * @throws InvalidInputError if no row is usable, or for a memory clock that the model does not know
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
      const measured = state.quantity === 'power' ? row.powerAverageW : row.throughput
      return { phi, residual, error: Math.log(measured / predicted) }
    })
    return new ErrorModel(before, networks).updated(observed)
  })
  const provenance = { ...parameters.provenance, refits: parameters.provenance.refits + 1 }
  return new PerfModel({ ...parameters, provenance, errors }, spec)
}
