import { loadPerfModel, type Predictor } from '@pctodl/perf-model'

const loaded = new Map<string, Predictor>()

/** The shipped predictor of a board, loaded once. @throws UnknownNameError for a board without parameters */
export function predictorOf(board: string): Predictor {
  let predictor = loaded.get(board)
  if (!predictor) {
    predictor = loadPerfModel(board)
    loaded.set(board, predictor)
  }
  return predictor
}
