import { restoreAbandoned } from './lease/restore-abandoned.js'

// The watchdog executes this program if the owner of a lease has ended and its journal still exists.
const [leaseFolder, uuid, leaseId, libraryPath] = process.argv.slice(2) as [string, string, string, string]
restoreAbandoned({ leaseFolder, uuid, leaseId, libraryPath }).catch(() => {
  // The journal now contains the error and remains for the next program.
  process.exitCode = 1
})
