import { restoreAbandoned } from './lease/restore-abandoned.js'

// What the watchdog becomes when a lease's owner is gone and its journal is not.
const [leaseFolder, uuid, leaseId, libraryPath] = process.argv.slice(2) as [string, string, string, string]
restoreAbandoned({ leaseFolder, uuid, leaseId, libraryPath }).catch(() => {
  // The journal holds the reason, and stays for the next program.
  process.exitCode = 1
})
