import { findGpuSpec, type GpuSpec, UnknownNameError } from '@pctodl/platform'
import rtx3080Ti from '../coefficients/3080Ti.json' with { type: 'json' }
import a100 from '../coefficients/A100.json' with { type: 'json' }
import type { BoardPhysics } from './board-physics.js'

const physicsByKey: Readonly<Record<string, BoardPhysics>> = { '3080Ti': rtx3080Ti, A100: a100 }

/** Keys of the boards that can be simulated. */
export const simulatedBoards: readonly string[] = Object.keys(physicsByKey)

/** @throws UnknownNameError for a board without coefficients */
export function physicsOfBoard(board: string | GpuSpec): BoardPhysics {
  const spec = typeof board === 'string' ? findGpuSpec(board) : board
  const physics = physicsByKey[spec.key]
  if (!physics) throw new UnknownNameError('simulated GPU', spec.key, simulatedBoards)
  return physics
}
