import { InvalidInputError, type TraceRow, UnknownNameError } from '@pctodl/platform'
import { levenbergMarquardt } from '../levenberg-marquardt.js'
import { PerfModel } from '../perf-model.js'
import { type FreeParameters, refitPowerParameters, refitThroughputParameters } from './free-parameters.js'
import { ModelObjective, type StageResiduals } from './model-objective.js'
import { powerResiduals, throughputResiduals } from './stage-residuals.js'
import { traceTable } from './trace-table.js'

export interface RefitOptions {
  /**
   * How far new rows may move a parameter: the standard deviation that its present value is believed to have, in parts of
   * it. Default 0.1.
   */
  readonly freedom?: number
}

const HUBER = 2
const MAX_ITERATIONS = 5

/**
 * A model that also takes account of a few new rows, for use while the board runs: the most likely parameters given the
 * rows and a belief in the present ones. It moves the time and the energy terms of the networks in the rows and the idle
 * power; everything else stays, the spread of the errors included. The model given is not changed.
 *
 * @throws UnknownNameError for a network that the model does not know
 * @throws InvalidInputError for rows of which none is usable, or at a memory clock that the model does not know
 */
export function refit(model: PerfModel, newRows: readonly TraceRow[], { freedom = 0.1 }: RefitOptions = {}): PerfModel {
  if (!(freedom > 0 && freedom <= 1)) throw new InvalidInputError('freedom', freedom, 'a number above 0 and at most 1')
  const { parameters, spec, memClocksMhz } = model
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
  const stage = (free: FreeParameters, residuals: StageResiduals): void => {
    const limitW = Number.POSITIVE_INFINITY
    const objective = new ModelObjective(spec, table, table.rows, board, changed, free, residuals, 1 / freedom, limitW)
    const bounds = { lower: objective.lower(), upper: objective.upper(), huber: HUBER }
    const { parameters: found } = levenbergMarquardt(objective, objective.pack(), {
      ...bounds,
      maxIterations: MAX_ITERATIONS,
      costTolerance: 1e-3,
    })
    objective.settle(found)
  }
  stage(refitThroughputParameters, throughputResiduals)
  stage(refitPowerParameters, powerResiduals)
  const networks = parameters.networks.map((before) => changed.find(({ name }) => name === before.name) ?? before)
  const provenance = { ...parameters.provenance, refits: parameters.provenance.refits + 1 }
  return new PerfModel({ ...parameters, provenance, boardParameters: board, networks }, spec)
}
