import type { PerfModel } from '@pctodl/perf-model'
import { modelOf } from '@pctodl/perf-model/node'

const loaded = new Map<string, PerfModel>()

/**
 * The predictor of a board, loaded once: the shipped one, or one from a folder of parameters.
 *
 * @throws UnknownNameError for a board without parameters; ParameterFileError for a file that cannot be used
 */
export function predictorOf(board: string, parametersFolder?: string): PerfModel {
  const key = `${board}\n${parametersFolder ?? ''}`
  let predictor = loaded.get(key)
  if (!predictor) {
    predictor = modelOf(board, parametersFolder)
    loaded.set(key, predictor)
  }
  return predictor
}
