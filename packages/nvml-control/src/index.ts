// Find, open and read boards.
export { listGpus, NvmlGpu, openGpu, putRight, withLease } from './nvml-gpu.js'
export { loadNvml, type LoadNvmlOptions, Nvml, NvmlNotFoundError } from './nvml/nvml-library.js'
export { NvmlDevice } from './nvml/nvml-device.js'
export type { MigInstanceInfo } from './nvml/mig-state.js'
export type { ComputeProcess } from './nvml/processes.js'
export { meansGone, NvmlError } from './nvml/nvml-error.js'
// Change a board under a lease, and restore it.
export type { BoardLease } from './lease/board-lease.js'
export { NvmlLease } from './lease/nvml-lease.js'
export { LeaseHeldError } from './lease/lease-errors.js'
export { LeaseFolder } from './lease/lease-folder.js'
export type { FoundState, LeaseRecord } from './lease/lease-record.js'
export { type RestoreOutcome, restoreBoard } from './lease/restore-leftovers.js'
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
// Check that no other user can write a file or folder.
export { cleanEnvironment, closedFolder, trustedFile } from './lease/trusted-file.js'
export { FileLock, lockHolder } from './lease/file-lock.js'
export { letConnect, letPass } from './lease/let-pass.js'
// Connect to the node service, which changes boards for its clients.
export { ServiceClient } from './service/service-client.js'
export { ServiceLease } from './service/service-lease.js'
export { InstanceLease } from './service/instance-lease.js'
export { serviceSocketPath, socketsOf } from './service/service-socket.js'
export { readLines } from './service/message-lines.js'
export {
  type LeaseReport,
  MAX_REQUEST_BYTES,
  parseServiceRequest,
  type ServiceMessage,
  type ServiceRequest,
  type ServiceRequestBody,
  type ServiceResults,
  type ServiceStatus,
  serviceProtocolVersions,
} from './service/service-protocol.js'
export { type BoardEvent, NvmlEvents } from './nvml/nvml-events.js'
// Apply a change to a board.
export { applyChange } from './control/apply-change.js'
export {
  type BoardChange,
  type ChangeKind,
  type ClockRange,
  describeChange,
  isSameChange,
} from './control/board-change.js'
export { changeBack } from './lease/asked-change.js'
// Describe a board type.
export { type BoardFacts, boardFacts } from './describe/board-facts.js'
export { specOfBoard, UnknownBoardError } from './describe/spec-of-board.js'
// Run a program while a lease is held.
export { runChild } from './commands/run-child.js'
// Metrics for Prometheus.
export { dcgmMetrics } from './commands/prometheus.js'
// Sample over time.
export { Sampler } from './sampling/sampler.js'
