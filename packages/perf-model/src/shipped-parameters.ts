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
  const key = keyOf(board)
  const known = Object.keys(shippedParameters)
  if (!known.includes(key)) throw new UnknownNameError('board', board, known)
  return PerfModel.load(shippedParameters[key])
}

/** Key of a board, or the name itself for an unknown board, which may have parameters all the same. */
export function keyOf(board: string): string {
  try {
    return findGpuSpec(board).key
  } catch (error) {
    if (error instanceof PctodlError) return board
    throw error
  }
}
