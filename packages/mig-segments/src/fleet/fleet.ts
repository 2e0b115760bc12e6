import type { ServiceProfile } from '../profile.js'
import type { InstanceCoRunners } from './shared-points.js'

/** Boards of one type that may be used. */
export interface BoardGroup {
  /** Name of a board with MIG. */
  readonly gpu: string
  /** What was measured on this type of board, perhaps at several SM clocks, of which each board then gets one. */
  readonly profiles: readonly ServiceProfile[]
  /** What models keep in an instance that they share. Default: an instance has one model. */
  readonly coRunners?: readonly InstanceCoRunners[]
  /** Boards that there are. Default: as many as needed. */
  readonly boards?: number
  /** What one costs, in any unit, above 0. Default 1: boards are counted. */
  readonly price?: number
  /** Boards of a node. Default 8. */
  readonly boardsPerNode?: number
  /**
   * Watts of a board with its instances while nothing runs on them, or these by the SM clock (MHz) to which it is locked; needed for
   * every limit on watts.
   */
  readonly idleW?: number | Readonly<Record<string, number>>
  /** Most watts of a board. */
  readonly boardCapW?: number
  /** Most watts of the boards of a node together. */
  readonly nodeCapW?: number
}

export interface Fleet {
  readonly groups: readonly BoardGroup[]
  /** Most watts of all boards in use together. */
  readonly powerW?: number
}
