import { findGpuSpec, PctodlError, UnknownNameError } from '@pctodl/platform'
import rtx3080Ti from '../params/3080Ti.json'
import a100 from '../params/A100.json'
import { PerfModel } from './perf-model.js'

/** Parameter files that come with the package, by board key. They are unchecked until loaded. */
export const shippedParameters: Readonly<Record<string, unknown>> = { '3080Ti': rtx3080Ti, A100: a100 }

/**
 * Load the model of a board with the shipped parameters, which were fitted to the simulated board (see `provenance` in
 * the file). For a real board, fit your own traces with `fitPerfModel`.
 *
 * @param board key, product name or alias
 * @throws UnknownNameError that lists the boards with shipped parameters
 */
export function loadPerfModel(board: string): PerfModel {
  const known = Object.keys(shippedParameters)
  const key = known.find((name) => name === keyOf(board))
  if (key === undefined) throw new UnknownNameError('board', board, known)
  return PerfModel.load(shippedParameters[key])
}

function keyOf(board: string): string | undefined {
  try {
    return findGpuSpec(board).key
  } catch (error) {
    if (error instanceof PctodlError) return undefined
    throw error
  }
}
