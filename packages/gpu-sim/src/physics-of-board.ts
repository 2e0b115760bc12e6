import { findGpuSpec, type GpuSpec, UnknownNameError } from '@pctodl/platform'
import rtx3080Ti from '../coefficients/3080Ti.json' with { type: 'json' }
import a100 from '../coefficients/A100.json' with { type: 'json' }
import type { BoardPhysics } from './board-physics.js'
import { derivePhysics } from './derive-physics.js'

/** Fitted to measurements. */
const calibrated: Readonly<Record<string, BoardPhysics>> = {
  '3080Ti': rtx3080Ti as BoardPhysics,
  A100: a100 as BoardPhysics,
}

/** Scaled from the calibrated board whose memory and chip are nearest. */
const derivedFrom: Readonly<Record<string, string>> = {
  RTX3090: '3080Ti',
  A10: '3080Ti',
  T4: '3080Ti',
  'A100-80GB': 'A100',
  V100: 'A100',
  H100: 'A100',
  H200: 'A100',
}

/** Keys of the boards whose coefficients are fitted to measurements. */
export const calibratedBoards: readonly string[] = Object.keys(calibrated)

/** Keys of the boards that can be simulated, the calibrated ones first. */
export const simulatedBoards: readonly string[] = [...calibratedBoards, ...Object.keys(derivedFrom)]

/** Deriving a board asks the physics what it draws under seven networks: once a process. */
const derived = new Map<GpuSpec, BoardPhysics>()

/** Key of the calibrated board that a board is, or is derived from. @throws UnknownNameError */
export function originOfBoard(spec: GpuSpec): string {
  if (spec.key in calibrated) return spec.key
  const origin = derivedFrom[spec.key]
  if (origin === undefined) throw new UnknownNameError('simulated GPU', spec.key, simulatedBoards)
  return origin
}

/** @throws UnknownNameError for a board without coefficients */
export function physicsOfBoard(board: string | GpuSpec): BoardPhysics {
  const spec = typeof board === 'string' ? findGpuSpec(board) : board
  const own = calibrated[spec.key]
  if (own) return own
  const origin = originOfBoard(spec)
  const known = derived.get(spec)
  if (known) return known
  const physics = derivePhysics(spec, { spec: findGpuSpec(origin), physics: calibrated[origin]! })
  derived.set(spec, physics)
  return physics
}
