import type { GroupPower, KeptShareSource } from '@pctodl/colocation'
import { findMigBoard } from '@pctodl/platform'
import type { ServiceProfile } from '../profile.js'

/**
 * Interference of models that share a MIG instance of one profile with one process each: the fraction of its throughput
 * that each model retains, and the power. Together, models may use nine tenths of the memory in the profile's name.
 */
export interface InstanceCoRunners {
  /** MIG profile of the instance, e.g. `2g.20gb`. */
  readonly profile: string
  /**
   * Workloads (named `<model>_batch<size>-inf`) as measured alone in an instance of this profile, and the fraction of
   * that throughput that each member of a group retains. If the fractions are uncertain, give lower bounds.
   */
  readonly source: KeptShareSource
  /** Power that a group adds to an idle board, W; required for power limits. */
  readonly powerW?: GroupPower
  /** SM clock of the measurement, MHz; absent if the board's points have none. */
  readonly smClockMhz?: number
  /** Maximum number of models in one instance, 2 to 4. Default 2. */
  readonly maxMembers?: number
}

/** Boards of one type that may be used. */
export interface BoardGroup {
  /** Name of a board with MIG. */
  readonly gpu: string
  /** Measurements on this type of board, at one or several SM clocks. A board runs at one of these clocks. */
  readonly profiles: readonly ServiceProfile[]
  /** Interference of models that share an instance. Default: one model per instance. */
  readonly coRunners?: readonly InstanceCoRunners[]
  /** Number of boards available. Default: as many as needed. */
  readonly boards?: number
  /** Price of one board, above 0, in any unit. Default 1, with which the number of boards is minimised. */
  readonly price?: number
  /** Number of boards per node. Default 8. */
  readonly boardsPerNode?: number
  /**
   * Power of an idle board with its instances, W: one value, or one value for each SM clock (MHz) at which the board
   * may be locked. Required if there is any power limit.
   */
  readonly idleW?: number | Readonly<Record<string, number>>
  /** Power limit of a board, W. */
  readonly boardCapW?: number
  /** Power limit of all boards of a node together, W. */
  readonly nodeCapW?: number
}

export interface Fleet {
  readonly groups: readonly BoardGroup[]
  /** Power limit of all boards in use together, W. */
  readonly powerW?: number
}

/**
 * Returns a fleet of one type of board.
 *
 * @param more further options of the group, such as power limits
 * @throws UnknownNameError, PctodlError `NOT_SUPPORTED` for a board without MIG, or not of seven slices
 */
export function fleetOf(gpu: string, profiles: readonly ServiceProfile[], more: Partial<BoardGroup> = {}): Fleet {
  return { groups: [{ ...more, gpu: findMigBoard(gpu).key, profiles }] }
}
