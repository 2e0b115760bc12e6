import { type LeftBoardsOptions, leftBoards } from './left-boards.js'
import { leftDaemons } from './left-daemon.js'
import type { Leftovers } from './leftover.js'
import { orphanedWorkers } from './orphaned-workers.js'

export interface FindLeftoversOptions extends LeftBoardsOptions {
  /** Folder that contains the MPS daemons' folders. Default: `$PCTODL_MPS_DIR`, or this user's in a runtime folder. */
  readonly mpsDir?: string
}

/**
 * Finds what crashed runs of this user left on this machine, in the order of removal: workers, their MPS daemon,
 * boards. Changes nothing.
 */
export async function findLeftovers(options: FindLeftoversOptions = {}): Promise<Leftovers> {
  const workers = orphanedWorkers()
  const boards = leftBoards(options)
  const daemon = await leftDaemons({
    ...(options.mpsDir === undefined ? {} : { mpsDir: options.mpsDir }),
    runGoesOn: boards.runGoesOn,
    endedFirst: new Set(workers.map(({ pid }) => pid)),
  })
  return {
    leftovers: [...workers, ...daemon.leftovers, ...boards.leftovers],
    leftAlone: [...daemon.leftAlone, ...boards.leftAlone],
  }
}
