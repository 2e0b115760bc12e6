import { LeaseFolder } from './lease/lease-folder.js'
import { restoreAbandoned } from './lease/restore.js'
import { loadNvml } from './nvml/nvml-library.js'

// The watchdog runs this program if a lease's owner has ended and its journal still exists. If it fails, the error is
// in the journal, which remains for the next program.
const [leaseFolder, uuid, leaseId, libraryPath] = process.argv.slice(2) as [string, string, string, string]
const deviceOf = (board: string) => loadNvml({ libraryPath }).device(board)
void restoreAbandoned(new LeaseFolder(leaseFolder), uuid, deviceOf, leaseId).then((restored) => {
  process.exitCode = restored?.outcome === 'failed' ? 1 : 0
})
