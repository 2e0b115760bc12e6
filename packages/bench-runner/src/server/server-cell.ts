import { BENCH_SEEDS_APART } from '../open-board.js'
import type { ServerPolicyName } from './server-policies.js'

/** One run of one policy on one task of the scenario, or one search for the most load of its mix. Plain JSON. */
export interface ServerCell {
  readonly board: string
  readonly taskId: number
  readonly taskName: string
  readonly policy: ServerPolicyName
  readonly seed: number
  /** Number of the board in the ensemble; absent for the shipped one. */
  readonly variant?: number
  /** The search for the most load in the place of the task itself. */
  readonly mostLoad: boolean
  /** Common factor on the task's rates; absent for 1. */
  readonly loadFactor?: number
  /** Folder of predictor parameters; absent for the shipped ones. */
  readonly parametersFolder?: string
}

/** `<board>_<policy>/server_<id>_<name>[_most-load][_x2][_v3][_seed2]`, without an extension. */
export function serverCellStem(cell: ServerCell): string {
  const { board, policy, taskId, taskName, seed, variant, mostLoad, loadFactor } = cell
  const of = [
    mostLoad ? '_most-load' : '',
    loadFactor === undefined ? '' : `_x${loadFactor}`,
    variant === undefined ? '' : `_v${variant}`,
    seed === 1 ? '' : `_seed${seed}`,
  ]
  return `${board}_${policy}/server_${taskId}_${taskName}${of.join('')}`
}

export function serverCellLabel(cell: ServerCell): string {
  const { taskId, taskName, policy, seed, mostLoad, loadFactor } = cell
  const which = seed === 1 ? '' : `, seed ${seed}`
  return `task ${taskId} ${taskName}${timesOf(loadFactor)} on ${serverBoardName(cell)}, ${policy}${mostLoad ? ', most load' : ''}${which}`
}

/** `A100`, or `A100~v3` of the ensemble. */
export function serverBoardName({ board, variant }: Pick<ServerCell, 'board' | 'variant'>): string {
  return variant === undefined ? board : `${board}~v${variant}`
}

/** Of arrivals and of the board; unlike boards never meet the same errors of a sensor. */
export function serverSeed({ seed, variant = 0 }: Pick<ServerCell, 'seed' | 'variant'>): number {
  return seed + BENCH_SEEDS_APART * variant
}

/** ` x 2`, for labels and tables. */
export function timesOf(loadFactor: number | undefined): string {
  return loadFactor === undefined ? '' : ` x ${loadFactor}`
}
