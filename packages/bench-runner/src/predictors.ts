import { readFileSync } from 'node:fs'
import { loadPerfModel, PerfModel, type Predictor, parsePerfModelParameters } from '@pctodl/perf-model'
import { InvalidInputError } from '@pctodl/platform'

const loaded = new Map<string, Predictor>()

/**
 * The predictor of a board, loaded once: the shipped one, or that of a parameter file.
 *
 * @throws UnknownNameError for a board without parameters; InvalidInputError for a file that cannot be read or is another board's
 */
export function predictorOf(board: string, parametersFile?: string): Predictor {
  const key = `${board}\n${parametersFile ?? ''}`
  let predictor = loaded.get(key)
  if (!predictor) {
    predictor = parametersFile === undefined ? loadPerfModel(board) : predictorOfFile(board, parametersFile)
    loaded.set(key, predictor)
  }
  return predictor
}

function predictorOfFile(board: string, file: string): Predictor {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new InvalidInputError(
      '--params',
      file,
      `a JSON file that pctodl-fit has written (${(error as Error).message})`,
    )
  }
  const predictor = new PerfModel(parsePerfModelParameters(json))
  if (predictor.spec.key !== board) {
    throw new InvalidInputError('--params', file, `parameters of ${board}; these are of ${predictor.spec.key}`)
  }
  return predictor
}
