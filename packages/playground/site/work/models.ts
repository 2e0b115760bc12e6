import { loadPerfModel, PerfModel, parsePerfModelParameters, shippedParameters } from '@pctodl/perf-model'
import { UnknownNameError } from '@pctodl/platform'

/** What the forms need to know about a board. */
export interface BoardDescription {
  /** Key of a shipped board, or name of a parameter file. */
  readonly board: string
  readonly name: string
  readonly smCount: number
  readonly powerLimitW: { readonly min: number; readonly default: number; readonly max: number }
  /** MHz, descending. */
  readonly memClocksMhz: readonly number[]
  readonly networks: readonly string[]
}

export function describeBoard(board: string, { spec, memClocksMhz, networks }: PerfModel): BoardDescription {
  const { name, smCount, powerLimitW } = spec
  return { board, name, smCount, powerLimitW, memClocksMhz, networks }
}

const models = new Map<string, PerfModel>()

/** Keys of the boards with shipped parameters. */
export const shippedBoards: readonly string[] = Object.keys(shippedParameters)

/** Returns the predictor of a shipped board or of an opened parameter file. @throws UnknownNameError */
export function modelNamed(board: string): PerfModel {
  const known = models.get(board)
  if (known) return known
  if (!shippedBoards.includes(board)) throw new UnknownNameError('board', board, [...shippedBoards, ...models.keys()])
  const model = loadPerfModel(board)
  models.set(board, model)
  return model
}

/**
 * Creates a predictor from a file of `pctodl fit`.
 *
 * @throws the errors of the parser
 */
export function openModel(name: string, json: string): PerfModel {
  const model = new PerfModel(parsePerfModelParameters(JSON.parse(json)))
  models.set(name, model)
  return model
}
