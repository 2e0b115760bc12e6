import { findGpuSpec, type GpuSpec, gpuSpecs, memoryTypeOf } from '@pctodl/platform'
import rtx3080Ti from '../coefficients/3080Ti.json' with { type: 'json' }
import a100 from '../coefficients/A100.json' with { type: 'json' }
import type { BoardPhysics } from './board-physics.js'
import { derivePhysics, type KnownBoard } from './derive-physics.js'

/** Coefficients fitted to measurements. */
const calibrated: Readonly<Record<string, BoardPhysics>> = {
  '3080Ti': rtx3080Ti as BoardPhysics,
  A100: a100 as BoardPhysics,
}

/** Keys of the boards whose coefficients are fitted to measurements. */
export const calibratedBoards: readonly string[] = Object.keys(calibrated)

/**
 * Keys of the boards of this release, calibrated ones first. All of them can be simulated, and so can any other
 * `GpuSpec`.
 */
export const simulatedBoards: readonly string[] = [...new Set([...calibratedBoards, ...Object.keys(gpuSpecs)])]

/** Cached, because deriving a board simulates its power with seven networks. */
const derived = new WeakMap<GpuSpec, BoardPhysics>()

/**
 * Key of the calibrated board from which a board is derived. A calibrated board is its own origin; others have the
 * calibrated board with the same kind of memory.
 */
export function originOfBoard(spec: GpuSpec): string {
  if (spec.key in calibrated) return spec.key
  // With HBM, an SM has several times the bandwidth that it has with GDDR.
  return memoryTypeOf(spec).startsWith('HBM') ? 'A100' : '3080Ti'
}

/**
 * The board whose energies are scaled. It is the origin if chip and memory are the same, otherwise the A100. On the
 * A100, streaming and arithmetic were measured separately; on the 3080 Ti, errors in L2 energy and in DRAM energy can
 * compensate each other.
 */
export function energiesOf(spec: GpuSpec): KnownBoard {
  const origin = originOfBoard(spec)
  const own = gpuSpecs[origin]!
  const same = own.chip === spec.chip && memoryTypeOf(own) === memoryTypeOf(spec)
  return knownBoard(same ? origin : 'A100')
}

const knownBoard = (key: string): KnownBoard => ({ spec: gpuSpecs[key]!, physics: calibrated[key]! })

/** Coefficients of any board, by its name or specification. @throws UnknownNameError, InvalidInputError */
export function physicsOfBoard(board: string | GpuSpec): BoardPhysics {
  const spec = typeof board === 'string' ? findGpuSpec(board) : board
  let physics = calibrated[spec.key] ?? derived.get(spec)
  if (physics) return physics
  physics = derivePhysics(spec, knownBoard(originOfBoard(spec)), { energies: energiesOf(spec) })
  derived.set(spec, physics)
  return physics
}
