// Boards: find, open, read.
export { listGpus, NvmlGpu, openGpu, type OpenGpuOptions, putRight, withLease } from './nvml-gpu.js'
export { loadNvml, type LoadNvmlOptions, Nvml, NvmlNotFoundError } from './nvml/nvml-library.js'
export { NvmlDevice, type PowerLimits } from './nvml/nvml-device.js'
export type { ComputeMode } from './nvml/compute-mode.js'
export type { ComputeProcess } from './nvml/processes.js'
export type { MigInstanceInfo, MigState } from './nvml/mig-state.js'
export { type EventReasonName, eventReasonNames } from './nvml/event-reasons.js'
export { NvmlError, nvmlReturnCodes } from './nvml/nvml-error.js'
export { type NvmlCallName, nvmlCallNames } from './nvml/nvml-calls.js'
// Leases: change a board, and put it back.
export { acquireLease, type LeasableBoard, type LeaseOptions } from './lease/acquire-lease.js'
export { NvmlLease } from './lease/nvml-lease.js'
export { LeaseHeldError, SetterNotAppliedError } from './lease/lease-errors.js'
export { defaultLeaseFolder, type JournalEntry, JournalError, LeaseFolder } from './lease/lease-folder.js'
export type { FoundState, LeaseRecord } from './lease/lease-record.js'
export { RestoreError } from './lease/restore.js'
export { type RestoreOptions, type RestoreOutcome, restoreLeftovers } from './lease/restore-leftovers.js'
export { commandLineOf, isRunning, type ProcessIdentity, processIdentity } from './lease/process-identity.js'
// Ways to change a board.
export { type BoardChange, type ChangeKind, type ClockRange, describeChange } from './control/board-change.js'
export type { BoardControl } from './control/board-control.js'
export { nvmlControl } from './control/nvml-control.js'
export { type ControlOptions, type ControlPath, selectControl } from './control/select-control.js'
export { SmiError, type SmiOptions, smiControl } from './control/smi-control.js'
// Describe a board type.
export { type BoardFacts, boardFacts } from './describe/board-facts.js'
export { type BoardCompletion, specOfBoard, UnknownBoardError } from './describe/spec-of-board.js'
export { sudoersDropIn, type SudoersOptions } from './control/sudoers.js'
// Sample over time.
export { Sampler, type SamplerOptions, type SampleWindow } from './sampling/sampler.js'
export {
  type EmptyWindow,
  type EnergySummary,
  type MeasuredWindow,
  type QuantitySummary,
  summarizeWindow,
  type WindowSummary,
} from './sampling/window-summary.js'
export { type RingColumn, ringColumns, SampleRing } from './sampling/sample-ring.js'
