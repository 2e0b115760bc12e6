import type { NvmlDevice } from '../nvml/nvml-device.js'
import type { LeaseFolder } from './lease-folder.js'
import type { LeaseRecord } from './lease-record.js'
import { bootId } from './process-identity.js'
import { restore } from './restore.js'

/** The result of one restoration. */
export interface RestoreOutcome {
  readonly uuid: string
  /** The journal; null if it could not be read. */
  readonly record: LeaseRecord | null
  /**
   * `restored`: the board was restored. `rebooted`: the journal is from before the last boot, which has reset the
   * settings. `in-use`: the owner is still running. `failed`: see `error`.
   */
  readonly outcome: 'restored' | 'rebooted' | 'in-use' | 'failed'
  readonly error?: unknown
}

/**
 * Restore a board that an earlier owner left changed. The caller must hold the board's lock, which proves that the
 * earlier owner has ended.
 *
 * @returns null if there is no journal
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

/** Records in the journal why the board could not be restored. */
export function noteFailure(folder: LeaseFolder, record: LeaseRecord, error: unknown): void {
  try {
    folder.write({ ...record, lastError: error instanceof Error ? error.message : String(error) })
  } catch {
    // If this fails, the old journal remains, and the caller throws the original error.
  }
}

/**
 * Restore the boards of this machine that killed programs left changed. Every program that changes boards calls this
 * when it starts. Boards in use are skipped.
 */
export async function restoreLeftovers(
  folder: LeaseFolder,
  deviceOf: (uuid: string) => NvmlDevice,
): Promise<RestoreOutcome[]> {
  const outcomes: (RestoreOutcome | null)[] = []
  for (const uuid of folder.journaled()) outcomes.push(await restoreBoard(folder, uuid, deviceOf))
  return outcomes.filter((outcome) => outcome !== null)
}

/** Restore one board that a killed program left changed. @returns null if there is no journal */
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
