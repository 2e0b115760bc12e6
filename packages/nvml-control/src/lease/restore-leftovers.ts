import type { NvmlDevice } from '../nvml/nvml-device.js'
import type { LeaseFolder } from './lease-folder.js'
import type { LeaseRecord } from './lease-record.js'
import { bootId } from './process-identity.js'
import { restore } from './restore.js'

/** The result for one journal found. */
export interface RestoreOutcome {
  readonly uuid: string
  /** The journal; null if it could not be read. */
  readonly record: LeaseRecord | null
  /**
   * `restored`: board restored. `rebooted`: from an earlier boot, whose settings the driver has lost. `in-use`: its
   * owner is running. `failed`: see `error`.
   */
  readonly outcome: 'restored' | 'rebooted' | 'in-use' | 'failed'
  readonly error?: unknown
}

/**
 * Restore what a former owner of a board left behind. The caller must hold the board's lock, which proves that this
 * owner is gone.
 *
 * @returns null if nothing was left
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

/** Record in the journal why the board could not be restored. */
export function noteFailure(folder: LeaseFolder, record: LeaseRecord, error: unknown): void {
  try {
    folder.write({ ...record, lastError: error instanceof Error ? error.message : String(error) })
  } catch {
    // The old journal remains, and the failure itself is thrown to the caller.
  }
}

/**
 * Restore what killed programs left behind on the boards of this machine. Every program that changes boards does so
 * when it starts. Boards in use are left alone.
 */
export async function restoreLeftovers(
  folder: LeaseFolder,
  deviceOf: (uuid: string) => NvmlDevice,
): Promise<RestoreOutcome[]> {
  const outcomes: (RestoreOutcome | null)[] = []
  for (const uuid of folder.journaled()) outcomes.push(await restoreBoard(folder, uuid, deviceOf))
  return outcomes.filter((outcome) => outcome !== null)
}

/** Restore what killed programs left behind on one board. @returns null if nothing was left */
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
