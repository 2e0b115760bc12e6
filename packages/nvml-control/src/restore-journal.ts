import { restoreAbandoned } from './lease/restore-abandoned.js'

// The watchdog runs this program if a lease's owner has ended and its journal still exists.
const [leaseFolder, uuid, leaseId, libraryPath] = process.argv.slice(2) as [string, string, string, string]
restoreAbandoned({ leaseFolder, uuid, leaseId, libraryPath }).catch(() => {
  // The error is now in the journal, which remains for the next program.
  process.exitCode = 1
})
