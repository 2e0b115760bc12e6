import type { NvmlDevice } from '../nvml/nvml-device.js'
import type { LeaseFolder } from './lease-folder.js'
import type { LeaseRecord } from './lease-record.js'
import { bootId } from './process-identity.js'
import { restore } from './restore.js'

/** What became of one journal that was found. */
export interface RestoreOutcome {
  readonly uuid: string
  /** The journal; null where it could not be read. */
  readonly record: LeaseRecord | null
  /**
   * `restored`: put back. `rebooted`: of an earlier boot, whose settings the driver has forgotten. `in-use`: its owner
   * lives. `failed`: see `error`.
   */
  readonly outcome: 'restored' | 'rebooted' | 'in-use' | 'failed'
  readonly error?: unknown
}

/**
 * Put right what a former owner of a board left behind. The caller holds the board's lock, so that owner is gone.
 *
 * @returns null where nothing was left
 * @throws RestoreError, JournalError
 */
export async function restoreLeftover(folder: LeaseFolder, device: NvmlDevice): Promise<RestoreOutcome | null> {
  const { uuid } = device
  folder.removeUnfinished(uuid)
  const record = folder.read(uuid)
  if (!record) return null
  if (record.owner.bootId !== bootId()) {
    folder.remove(uuid)
    return { uuid, record, outcome: 'rebooted' }
  }
  try {
    await restore(device, record)
  } catch (error) {
    noteFailure(folder, record, error)
    throw error
  }
  folder.remove(uuid)
  return { uuid, record, outcome: 'restored' }
}

/** Leave word in the journal of why the board could not be put back. */
export function noteFailure(folder: LeaseFolder, record: LeaseRecord, error: unknown): void {
  try {
    folder.write({ ...record, lastError: error instanceof Error ? error.message : String(error) })
  } catch {
    // The journal as it was is still there, and the failure itself is thrown to the caller.
  }
}

/**
 * Put right what programs that were killed left behind on the boards of this machine: what every program of the family does
 * at its start. Boards that are in use are left alone.
 */
export async function restoreLeftovers(
  folder: LeaseFolder,
  deviceOf: (uuid: string) => NvmlDevice,
): Promise<RestoreOutcome[]> {
  const outcomes: (RestoreOutcome | null)[] = []
  for (const uuid of folder.journaled()) outcomes.push(await restoreBoard(folder, uuid, deviceOf))
  return outcomes.filter((outcome) => outcome !== null)
}

/** The same for one board. @returns null where nothing was left */
export async function restoreBoard(
  folder: LeaseFolder,
  uuid: string,
  deviceOf: (uuid: string) => NvmlDevice,
): Promise<RestoreOutcome | null> {
  let record: LeaseRecord | null = null
  let lock: ReturnType<LeaseFolder['tryLock']> = null
  try {
    lock = folder.tryLock(uuid)
    record = folder.read(uuid)
    if (!lock) return { uuid, record, outcome: 'in-use' }
    return record && (await restoreLeftover(folder, deviceOf(uuid)))
  } catch (error) {
    return { uuid, record, outcome: 'failed', error }
  } finally {
    lock?.release()
  }
}
