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
  /** NVML's library. Default: where drivers put it. */
  readonly library?: string
  /** Where leases are kept. Default: `$PCTODL_LEASE_DIR`, or `defaultLeaseFolder()` of nvml-control. */
  readonly leaseDir?: string
}

/**
 * Boards that a program of this user which is gone has left changed, as their journals say. Locks need no cleaning: the kernel
 * gives them back when their process ends.
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

/** Who holds which board, also of boards that are not changed yet. */
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
    // No driver: the journals are then all that can be known.
    if (error instanceof PctodlError) return []
    throw error
  }
}

/** Undefined for a board that is lost; the others are looked at all the same. */
function uuidAt(nvml: Nvml, index: number): string | undefined {
  try {
    return nvml.deviceByIndex(index).uuid
  } catch (error) {
    if (error instanceof PctodlError) return undefined
    throw error
  }
}

/** The journal; null for one that is gone by now, an error for one that is none. */
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

/** @throws where the board could not be put right */
function describe(found: RestoreOutcome | undefined): string {
  switch (found?.outcome) {
    case undefined:
      return 'somebody else was faster'
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
