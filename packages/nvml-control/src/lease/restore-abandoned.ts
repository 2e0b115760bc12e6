import { loadNvml } from '../nvml/nvml-library.js'
import { LeaseFolder } from './lease-folder.js'
import { type RestoreOutcome, restoreLeftover } from './restore-leftovers.js'

/** Time allowed for the lock of a process that has just died to become free, ms. */
const LOCK_WAIT_MS = 2000
const POLL_MS = 10

/** A lease whose owner is gone but whose journal remains. */
export interface AbandonedLease {
  readonly leaseFolder: string
  readonly uuid: string
  readonly leaseId: string
  readonly libraryPath: string
}

/**
 * Restore what one owner left on its board, unless another program does or did so.
 *
 * @returns null if the journal or the board belongs to another lease by now
 * @throws RestoreError, JournalError, NvmlError
 */
export async function restoreAbandoned(lease: AbandonedLease): Promise<RestoreOutcome | null> {
  const { uuid, leaseId, libraryPath } = lease
  const folder = new LeaseFolder(lease.leaseFolder)
  const isOurs = () => folder.read(uuid)?.leaseId === leaseId
  // Another program has already restored the board.
  if (!isOurs()) return null
  let lock = folder.tryLock(uuid)
  for (let waitedMs = 0; !lock && waitedMs < LOCK_WAIT_MS && isOurs(); waitedMs += POLL_MS) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    lock = folder.tryLock(uuid)
  }
  // Another program holds the board now, and restored it before.
  if (!lock) return null
  try {
    if (!isOurs()) return null
    return await restoreLeftover(folder, loadNvml({ libraryPath }).device(uuid))
  } finally {
    lock.release()
  }
}
