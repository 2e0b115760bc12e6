import { assertKnownOptions, InvalidInputError, type TraceRow } from '@pctodl/platform'
import { PerfModel } from '../perf-model.js'
import { ErrorModel } from '../uncertainty/error-model.js'
import { traceTable } from './trace-table.js'

export interface RefitOptions {
  /**
   * Forget the certainty gained from earlier rows (after a new driver, or in another season): the learnt mean stays,
   * but new rows move it as easily as the first ones did. Default false.
   */
  readonly forget?: boolean
}

/**
 * Update a model with a few new rows of one board, for use while it runs. The board's difference from the equations is
 * learnt in closed form, so ten calls with one row each give the same as one call with ten rows. The equations stay:
 * only predictions of throughput, latency and power move, and their standard deviations shrink. The given model is not
 * changed.
 *
 * @throws UnknownNameError for a network that the model does not know
 * @throws InvalidInputError for rows of which none is usable, or at a memory clock that the model does not know
 */
export function refit(model: PerfModel, newRows: readonly TraceRow[], options: RefitOptions = {}): PerfModel {
  assertKnownOptions('options', options, ['forget'])
  const { parameters, spec, memClocksMhz, networks } = model
  if (!Array.isArray(newRows as unknown)) throw new InvalidInputError('rows', newRows, 'a list of trace rows')
  newRows.forEach((row, i) => {
    if (row.failed || memClocksMhz.includes(row.memClockMhz)) return
    const expected = `a memory clock of the model: ${memClocksMhz.join(', ')}`
    throw new InvalidInputError(`rows[${i}].memClockMhz`, row.memClockMhz, expected)
  })
  const plain = new PerfModel(withoutRows(parameters), spec)
  const rows = traceTable(newRows, spec, { memClocksMhz }).rows.map(({ row }) => {
    const { tenants, smClockMhz, memClockMhz } = row
    const configuration = { tenants, smClockMhz, memClockMhz }
    const { throughput, powerW } = plain.predict(configuration)
    return {
      terms: plain.errorTerms(configuration),
      throughput: Math.log(row.throughput / throughput),
      power: Math.log(row.powerAverageW / powerW),
    }
  })
  const errors = parameters.errors.map((state) => {
    const { quantity } = state
    const before = options.forget ? { ...state, covariance: [] } : state
    return new ErrorModel(before, networks).updated(
      rows.map((row) => ({ ...row.terms[quantity], error: row[quantity] })),
    )
  })
  const provenance = { ...parameters.provenance, refits: parameters.provenance.refits + 1 }
  return new PerfModel({ ...parameters, provenance, errors }, spec)
}

/** A model with these parameters predicts by the equations alone. */
function withoutRows(parameters: PerfModel['parameters']): PerfModel['parameters'] {
  return { ...parameters, errors: parameters.errors.map((state) => ({ ...state, rows: 0 })) }
}
