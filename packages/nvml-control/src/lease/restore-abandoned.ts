import { loadNvml } from '../nvml/nvml-library.js'
import { LeaseFolder } from './lease-folder.js'
import { type RestoreOutcome, restoreLeftover } from './restore-leftovers.js'

/** Time to wait for the kernel to release a dead process's lock, ms. */
const LOCK_WAIT_MS = 2000
const POLL_MS = 10

/** A lease whose owner has ended without deleting its journal. */
export interface AbandonedLease {
  readonly leaseFolder: string
  readonly uuid: string
  readonly leaseId: string
  readonly libraryPath: string
}

/**
 * Restores the board that an ended owner left changed, unless another program restores it or has restored it.
 *
 * @returns null if another program has restored the board or now holds its lease
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
  // Another program now holds the lease. It restored the board when it acquired the lease.
  if (!lock) return null
  try {
    if (!isOurs()) return null
    return await restoreLeftover(folder, loadNvml({ libraryPath }).device(uuid))
  } finally {
    lock.release()
  }
}
