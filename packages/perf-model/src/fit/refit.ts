import { quantile } from '@pctodl/numerics'
import { assertKnownOptions, InvalidInputError, type TraceRow } from '@pctodl/platform'
import { assertModel, PerfModel } from '../perf-model.js'
import { ErrorModel } from '../uncertainty/error-model.js'
import { traceTable } from './trace-table.js'

/** A measured power that differs from the predicted one by a larger factor has another unit. */
const MAX_POWER_FACTOR = 6
/**
 * Rows of which nine in ten differ to one side by a larger factor are of another board type, or count half a board or
 * two. A model of the right type can be off by as much in fewer rows, for example in those of single tenants.
 */
const MAX_COMMON_FACTOR = 1.5
/** Minimum number of rows that are compared with `MAX_COMMON_FACTOR`. */
const MIN_COMPARED = 3

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
 * from the others: only a call with several rows recognises it and gives it less weight. The equations stay unchanged.
 * Only the predictions of throughput, latency and power change, and their standard deviations shrink. The given model is not changed.
 *
 * @throws UnknownNameError for a network that the model does not know
 * @throws InvalidInputError if no row is usable, for a memory clock that the model does not know, for a power that
 * cannot be in W, or if nine in ten of at least three powers are more than 1.5 times the predicted ones, or less than two
 * thirds
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
  const ratios = rows.map(({ row }) => row.powerAverageW / model.predict(row).powerW)
  const checks: [field: string, ratio: number, factor: number][] = rows.map(({ row }, i) => [
    `rows[${newRows.indexOf(row)}]`,
    ratios[i]!,
    MAX_POWER_FACTOR,
  ])
  // The ratio nearest to 1 that the common ones reach.
  const common = Math.max(quantile(ratios, 0.1), Math.min(1, quantile(ratios, 0.9)))
  if (rows.length >= MIN_COMPARED) checks.push(['rows', common, MAX_COMMON_FACTOR])
  for (const [field, ratio, factor] of checks) {
    if (Math.abs(Math.log(ratio)) <= Math.log(factor)) continue
    const found = `${ratio.toPrecision(3)} times the predicted power`
    const expected = `at most ${factor} times more or less; give W, remove wrong rows, or fit the board anew`
    throw new InvalidInputError(`${field}.powerAverageW`, found, expected)
  }
  const errors = parameters.errors.map((state) => {
    const before = forget ? { ...state, covariance: [] } : state
    const observed = rows.map(({ row, terms }) => {
      const { predicted, phi, residual } = terms[state.quantity]
      const measured = state.quantity === 'power' ? row.powerAverageW : row.throughput
      return { phi, residual, error: Math.log(measured / predicted) }
    })
    return new ErrorModel(before, networks).updated(observed)
  })
  const { provenance } = parameters
  return new PerfModel({ ...parameters, provenance: { ...provenance, refits: provenance.refits + 1 }, errors }, spec)
}
