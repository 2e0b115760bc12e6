import { nvmlControl } from './control/nvml-control.js'
import { LeaseFolder } from './lease/lease-folder.js'
import { restoreLeftover } from './lease/restore-leftovers.js'
import { loadNvml } from './nvml/nvml-library.js'

/** How long the lock of a process that has just died may take to be free, ms. */
const LOCK_WAIT_MS = 2000

/** What the watchdog becomes when a lease's owner is gone and its journal is not. */
async function restoreJournal([folderPath, uuid, leaseId, libraryPath]: readonly string[]): Promise<void> {
  const folder = new LeaseFolder(folderPath)
  const isOurs = () => folder.read(uuid!)?.leaseId === leaseId
  // Another program was faster.
  if (!isOurs()) return
  let lock = folder.tryLock(uuid!)
  for (let waitedMs = 0; !lock && waitedMs < LOCK_WAIT_MS && isOurs(); waitedMs += 10) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    lock = folder.tryLock(uuid!)
  }
  // Somebody else holds the board by now, and has put it right before.
  if (!lock) return
  try {
    if (!isOurs()) return
    const device = loadNvml({ libraryPath: libraryPath! }).device(uuid!)
    await restoreLeftover(folder, device, nvmlControl(device))
  } finally {
    lock.release()
  }
}

restoreJournal(process.argv.slice(2)).catch(() => {
  // The journal holds the reason, and stays for the next program.
  process.exitCode = 1
})
