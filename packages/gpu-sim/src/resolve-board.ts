import { findGpuSpec, type GpuSpec } from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'
import { type BoardVariant, findBoardVariant } from './board-variants.js'
import type { HostProfile } from './host-profile.js'
import { physicsOfBoard } from './physics-of-board.js'

/** A board: its key, product name or alias, the name of a variant (`A100~v3`), a specification, or a variant. */
export type SimulatedBoard = string | GpuSpec | BoardVariant

export interface ResolvedBoard {
  /** Name of the board, or of the variant. */
  readonly name: string
  readonly spec: GpuSpec
  readonly physics: BoardPhysics
  /** Host of a variant; undefined for other boards, which have their usual host. */
  readonly host?: HostProfile
}

/**
 * @param physics replaces the board's own coefficients
 * @throws UnknownNameError for a board that cannot be simulated
 * @throws InvalidInputError for an invalid variant name
 */
export function resolveBoard(board: SimulatedBoard, physics?: BoardPhysics): ResolvedBoard {
  const variant = typeof board === 'string' ? findBoardVariant(board) : 'physics' in board ? board : null
  if (variant) {
    return { name: variant.name, spec: variant.spec, physics: physics ?? variant.physics, host: variant.host }
  }
  const spec = typeof board === 'string' ? findGpuSpec(board) : (board as GpuSpec)
  return { name: spec.key, spec, physics: physics ?? physicsOfBoard(spec) }
}

/** Returns an execution with the board's host if the execution does not name one. */
export function inHost<T extends { readonly host?: unknown }>(execution: T, { host }: ResolvedBoard): T {
  return host === undefined || execution.host !== undefined ? execution : { ...execution, host }
}
