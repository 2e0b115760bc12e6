import {
  LeaseFolder,
  type LeaseRecord,
  loadNvml,
  type Nvml,
  programNameOf,
  putRight,
  type RestoreOutcome,
} from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import type { LeftAlone, Leftover, Leftovers } from './leftover.js'

export interface LeftBoardsOptions {
  /** NVML's library. Default: where drivers install it. */
  readonly library?: string
  /** Folder of leases. Default: `$PCTODL_LEASE_DIR`, or `defaultLeaseFolder()` of nvml-control. */
  readonly leaseDir?: string
}

/**
 * Finds boards whose settings an ended program of this user left changed, according to their journals. Locks need no
 * clean-up, because the kernel releases them when their process ends.
 */
export function leftBoards({ library, leaseDir }: LeftBoardsOptions): Leftovers & { readonly runGoesOn: boolean } {
  const folder = new LeaseFolder(leaseDir)
  const load = () => loadNvml(library === undefined ? {} : { libraryPath: library })
  const holders = holdersOf(folder, load)
  const leftAlone: LeftAlone[] = [...holders].map(([uuid, pid]) => ({
    what: `lease on ${uuid}`,
    why: `process ${pid} holds it (${programNameOf(pid) ?? 'not visible from here'})`,
  }))
  const leftovers: Leftover[] = []
  let restored: Promise<RestoreOutcome[]> | undefined
  const restore = () => {
    restored ??= putRight(load(), leaseDir === undefined ? {} : { leaseFolder: leaseDir })
    return restored
  }
  for (const uuid of folder.journaled().filter((journaled) => !holders.has(journaled))) {
    const entry = entryOf(folder, uuid)
    if (entry === null) continue
    if (entry instanceof PctodlError) {
      const remove = () => Promise.reject(entry)
      leftovers.push({ kind: 'board', what: `${uuid} has a journal that cannot be read`, remove })
    } else {
      const remove = async () => describe((await restore()).find((outcome) => outcome.uuid === uuid))
      leftovers.push({ kind: 'board', what: `${uuid} ${whatIsLeft(entry)}`, remove })
    }
  }
  return { leftovers, leftAlone, runGoesOn: holders.size > 0 }
}

/** Pids of the processes that hold a lease, by board, including boards whose settings are not changed yet. */
function holdersOf(folder: LeaseFolder, load: () => Nvml): Map<string, number> {
  const holders = new Map<string, number>()
  for (const uuid of new Set([...folder.journaled(), ...boardsThatAnswer(load)])) {
    const pid = folder.holder(uuid)
    if (pid !== null) holders.set(uuid, pid)
  }
  return holders
}

function boardsThatAnswer(load: () => Nvml): string[] {
  try {
    const nvml = load()
    return Array.from({ length: nvml.deviceCount }, (_, index) => index).flatMap((index) => uuidAt(nvml, index) ?? [])
  } catch (error) {
    // Without a driver, only boards with a journal are known.
    if (error instanceof PctodlError) return []
    throw error
  }
}

/** UUID of a board; undefined if the board is lost, so that the others are still checked. */
function uuidAt(nvml: Nvml, index: number): string | undefined {
  try {
    return nvml.deviceByIndex(index).uuid
  } catch (error) {
    if (error instanceof PctodlError) return undefined
    throw error
  }
}

/** Journal of a board: null if it no longer exists, an error if it is invalid. */
function entryOf(folder: LeaseFolder, uuid: string): LeaseRecord | PctodlError | null {
  try {
    return folder.read(uuid)
  } catch (error) {
    if (error instanceof PctodlError) return error
    throw error
  }
}

function whatIsLeft({ touched, owner }: LeaseRecord): string {
  return `was left changed (${touched.join(', ') || 'nothing yet'}) by process ${owner.pid}, ${owner.program}`
}

/**
 * Describes the outcome of a restoration.
 *
 * @throws if the board could not be restored
 */
function describe(found: RestoreOutcome | undefined): string {
  switch (found?.outcome) {
    case undefined:
      return 'another process was faster'
    case 'restored':
      return 'put back'
    case 'rebooted':
      return 'journal of an earlier boot removed'
    case 'in-use':
      return 'left alone: it is in use again'
    case 'failed':
      throw found.error
  }
}
