import { InvalidInputError, type TraceRow, UnknownNameError } from '@pctodl/platform'
import { PerfModel } from '../perf-model.js'
import { ErrorCollector } from './fit-report.js'
import { refitThroughputParameters } from './free-parameters.js'
import { ModelObjective } from './model-objective.js'
import { throughputResiduals } from './stage-residuals.js'
import { traceTable } from './trace-table.js'

/** Fewer would say more of luck than of a model. */
const LEAST_ROWS = 100

/**
 * A model whose predictions are those of the one given, with standard deviations and quantiles made anew from rows that its fit has not seen, such as
 * fresh random configurations: the more there are, the finer they tell where it is wrong. Coverage of every group of configurations
 * takes some thousand rows; a fit calibrates on its own held-out rows.
 *
 * @param rows measured ones, at least 100 usable ones, of networks and memory clocks of the model
 * @throws UnknownNameError for a network that the model does not know
 * @throws InvalidInputError for rows that cannot be of its board, or too few
 */
export function recalibrate(model: PerfModel, rows: readonly TraceRow[]): PerfModel {
  const { parameters, spec, memClocksMhz, networks: names } = model
  const table = traceTable(rows, spec, { memClocksMhz })
  if (table.rows.length < LEAST_ROWS) {
    throw new InvalidInputError('rows', table.rows.length, `at least ${LEAST_ROWS} rows that did not fail`)
  }
  const networks = table.networkNames.map((name) => {
    const found = parameters.networks.find((network) => network.name === name)
    if (found === undefined) throw new UnknownNameError('network', name, names)
    return { ...found }
  })
  const board = structuredClone(parameters.boardParameters)
  const free = refitThroughputParameters
  const limitW = Number.POSITIVE_INFINITY
  const objective = new ModelObjective(spec, table, table.rows, board, networks, free, throughputResiduals, 0, limitW)
  objective.settle(objective.pack())
  const errors = new ErrorCollector()
  for (const row of table.rows) errors.add(row, objective.evaluate(row), objective.featuresOf(row))
  return new PerfModel({ ...parameters, calibration: errors.calibration(table.networkNames) }, spec)
}
