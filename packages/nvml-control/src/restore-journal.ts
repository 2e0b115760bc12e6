import { restoreAbandoned } from './lease/restore-abandoned.js'

// The watchdog executes this program if the owner of a lease is gone but its journal remains.
const [leaseFolder, uuid, leaseId, libraryPath] = process.argv.slice(2) as [string, string, string, string]
restoreAbandoned({ leaseFolder, uuid, leaseId, libraryPath }).catch(() => {
  // The journal records the reason and stays for the next program.
  process.exitCode = 1
})
