import { loadNvml } from '../nvml/nvml-library.js'
import { LeaseFolder } from './lease-folder.js'
import { type RestoreOutcome, restoreLeftover } from './restore-leftovers.js'

/** How long the lock of a process that has just died may take to be free, ms. */
const LOCK_WAIT_MS = 2000
const POLL_MS = 10

/** A lease whose owner is gone and whose journal is not. */
export interface AbandonedLease {
  readonly leaseFolder: string
  readonly uuid: string
  readonly leaseId: string
  readonly libraryPath: string
}

/**
 * Put right what one owner has left on its board, unless somebody else does, or has done so.
 *
 * @returns null where the journal, or the board, is another's by now
 * @throws RestoreError, JournalError, NvmlError
 */
export async function restoreAbandoned(lease: AbandonedLease): Promise<RestoreOutcome | null> {
  const { uuid, leaseId, libraryPath } = lease
  const folder = new LeaseFolder(lease.leaseFolder)
  const isOurs = () => folder.read(uuid)?.leaseId === leaseId
  // Another program was faster.
  if (!isOurs()) return null
  let lock = folder.tryLock(uuid)
  for (let waitedMs = 0; !lock && waitedMs < LOCK_WAIT_MS && isOurs(); waitedMs += POLL_MS) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    lock = folder.tryLock(uuid)
  }
  // Somebody else holds the board by now, and has put it right before.
  if (!lock) return null
  try {
    if (!isOurs()) return null
    return await restoreLeftover(folder, loadNvml({ libraryPath }).device(uuid))
  } finally {
    lock.release()
  }
}
