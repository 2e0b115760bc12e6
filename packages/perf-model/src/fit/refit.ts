import { levenbergMarquardt } from '@pctodl/numerics'
import { assertKnownOptions, InvalidInputError, type TraceRow, UnknownNameError } from '@pctodl/platform'
import type { Belief } from '../parameters.js'
import { PerfModel } from '../perf-model.js'
import { beliefsAfter, priorFactor, replaced } from './beliefs.js'
import { ErrorCollector } from './fit-report.js'
import { refitPowerParameters, refitThroughputParameters } from './free-parameters.js'
import { ModelObjective, type Slot } from './model-objective.js'
import { powerResiduals, throughputResiduals } from './stage-residuals.js'
import { type TraceTable, traceTable } from './trace-table.js'
import { updatedCalibration } from './updated-calibration.js'

export interface RefitOptions {
  /**
   * How far new rows may move a parameter: the standard deviation that its present value is believed to have, in parts of
   * it. Default 0.1.
   */
  readonly freedom?: number
  /**
   * Forget what earlier refits have learnt of how certain the parameters are (a new driver, another season): their values stay,
   * and new rows may move them again by `freedom`. Default false.
   */
  readonly forget?: boolean
}

const HUBER = 2
const MAX_ITERATIONS = 4

/**
 * A model that also takes account of a few new rows, for use while the board runs: a Bayesian update. The most likely parameters
 * are those that the rows and the belief in the present ones agree on, and the belief that is left goes into the next refit, so
 * that ten calls with a row each know what one call with ten rows knows (but for the curvature in between). It moves the time
 * and the energy terms of the networks in the rows and the idle power, and brings the calibration of the errors up to date;
 * everything else stays. The model given is not changed: keep it to forget the values that refits have found as well.
 *
 * @throws UnknownNameError for a network that the model does not know
 * @throws InvalidInputError for rows of which none is usable, or at a memory clock that the model does not know
 */
export function refit(model: PerfModel, newRows: readonly TraceRow[], options: RefitOptions = {}): PerfModel {
  assertKnownOptions('options', options, ['freedom', 'forget'])
  const { freedom = 0.1, forget = false } = options
  if (!(freedom > 0 && freedom <= 1)) throw new InvalidInputError('freedom', freedom, 'a number above 0 and at most 1')
  const { parameters, spec, memClocksMhz } = model
  if (!Array.isArray(newRows as unknown)) throw new InvalidInputError('rows', newRows, 'a list of trace rows')
  newRows.forEach((row, i) => {
    if (row.failed || memClocksMhz.includes(row.memClockMhz)) return
    const expected = `a memory clock of the model: ${memClocksMhz.join(', ')}`
    throw new InvalidInputError(`rows[${i}].memClockMhz`, row.memClockMhz, expected)
  })
  const table = traceTable(newRows, spec, { memClocksMhz })
  const board = structuredClone(parameters.boardParameters)
  const changed = table.networkNames.map((name) => {
    const found = parameters.networks.find((network) => network.name === name)
    if (found === undefined) throw new UnknownNameError('network', name, model.networks)
    return { ...found }
  })
  const limitW = Number.POSITIVE_INFINITY
  const before = forget ? [] : parameters.beliefs
  const ownerOf = ({ network }: Slot): string => (network < 0 ? 'board' : changed[network]!.name)
  const problem = (quantity: Belief['quantity']): ModelObjective => {
    const [free, residuals] =
      quantity === 'speed' ? [refitThroughputParameters, throughputResiduals] : [refitPowerParameters, powerResiduals]
    const prior = priorFactor(before, quantity, freedom, ownerOf)
    return new ModelObjective(spec, table, table.rows, board, changed, free, residuals, prior, limitW)
  }
  const stage = (objective: ModelObjective, quantity: Belief['quantity']): Belief[] => {
    const bounds = { lower: objective.lower(), upper: objective.upper(), huber: HUBER }
    const result = levenbergMarquardt(objective, objective.pack(), {
      ...bounds,
      maxIterations: MAX_ITERATIONS,
      costTolerance: 1e-3,
    })
    objective.settle(result.parameters)
    const after = beliefsAfter(objective, result, HUBER, quantity, ownerOf)
    objective.settle(result.parameters)
    return after
  }
  const speed = problem('speed')
  const calibration = updatedCalibration(parameters.calibration, errorsOf(table, speed), table.networkNames)
  const learnt = [...stage(speed, 'speed'), ...stage(problem('power'), 'power')]
  const networks = parameters.networks.map((old) => changed.find(({ name }) => name === old.name) ?? old)
  const provenance = { ...parameters.provenance, refits: parameters.provenance.refits + 1 }
  const beliefs = replaced(before, learnt)
  return new PerfModel({ ...parameters, provenance, boardParameters: board, networks, calibration, beliefs }, spec)
}

/** Errors of the parameters that an objective holds. */
function errorsOf({ rows }: TraceTable, objective: ModelObjective): ErrorCollector {
  const errors = new ErrorCollector()
  objective.settle(objective.pack())
  for (const row of rows) errors.add(row, objective.evaluate(row), objective.featuresOf(row))
  return errors
}
