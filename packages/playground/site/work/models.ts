import { loadPerfModel, PerfModel, parsePerfModelParameters, shippedParameters } from '@pctodl/perf-model'
import { UnknownNameError } from '@pctodl/platform'

const models = new Map<string, PerfModel>()

/** Keys of the boards that come with parameters. */
export const shippedBoards: readonly string[] = Object.keys(shippedParameters)

/**
 * The predictor of a board, or of a parameter file that was opened before.
 *
 * @throws UnknownNameError where there is neither
 */
export function modelNamed(board: string): PerfModel {
  const known = models.get(board)
  if (known) return known
  if (!shippedBoards.includes(board)) throw new UnknownNameError('board', board, [...shippedBoards, ...models.keys()])
  const model = loadPerfModel(board)
  models.set(board, model)
  return model
}

/**
 * Make a predictor of a file as `pctodl fit` writes it.
 *
 * @throws what parsing throws, in the words of the predictor
 */
export function openModel(name: string, json: string): PerfModel {
  const model = new PerfModel(parsePerfModelParameters(JSON.parse(json)))
  models.set(name, model)
  return model
}
