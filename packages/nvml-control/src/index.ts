// Find, open and read boards.
export { listGpus, NvmlGpu, openGpu, putRight, withLease } from './nvml-gpu.js'
export { loadNvml, type LoadNvmlOptions, Nvml, NvmlNotFoundError } from './nvml/nvml-library.js'
export { NvmlDevice } from './nvml/nvml-device.js'
export { meansGone, NvmlError } from './nvml/nvml-error.js'
// Change a board under a lease, and restore it.
export { BoardLease } from './lease/board-lease.js'
export { NvmlLease } from './lease/nvml-lease.js'
export { LeaseHeldError } from './lease/lease-errors.js'
export { LeaseFolder } from './lease/lease-folder.js'
export { checked, type LeaseRecord } from './lease/lease-record.js'
export { type RestoreOutcome, restoreBoard } from './lease/restore.js'
export {
  childrenOf,
  processesOf,
  commandLineOf,
  executableOf,
  isRunning,
  type ProcessIdentity,
  processIdentity,
  programNameOf,
  startVariableOf,
  userOf,
} from './lease/process-identity.js'
export { endProcess, endsWithin } from './lease/end-process.js'
// Check that no other user can write a file or folder.
export { cleanEnvironment, closedFolder, trustedFile } from './lease/trusted-file.js'
export { FileLock, lockHolder } from './lease/file-lock.js'
export { letConnect, letPass } from './lease/let-pass.js'
// Connect to the node service, which changes boards for its clients.
export { ServiceClient } from './service/service-client.js'
export { InstanceLease, ServiceLease } from './service/served-lease.js'
export { serviceSocketPath, socketsOf } from './service/service-socket.js'
export { readLines } from './service/message-lines.js'
export {
  MAX_REQUEST_BYTES,
  parseServiceRequest,
  type ServiceMessage,
  type ServiceRequest,
  type ServiceResults,
  serviceProtocolVersions,
} from './service/service-protocol.js'
export { type BoardEvent, NvmlEvents } from './nvml/nvml-events.js'
// Apply a change to a board.
export { applyChange } from './control/apply-change.js'
export {
  type BoardChange,
  type ClockRange,
  changeBack,
  describeChange,
  type FoundState,
  isSameChange,
} from './control/board-change.js'
// Describe a board type.
export { type BoardFacts, boardFacts } from './describe/board-facts.js'
export { specOfBoard, UnknownBoardError } from './describe/spec-of-board.js'
// Run a program while a lease is held.
export { runChild } from './commands/run-child.js'
export { untilAborted } from './commands/until-aborted.js'
// Serve metrics by HTTP.
export { PageServer } from './commands/page-server.js'
export { dcgmMetrics } from './commands/prometheus.js'
export { reasonOf, unlessFailed } from './reason-of.js'
export { Sampler } from './sampling/sampler.js'
