export { type ClockStates, type GpuSpec, memoryBandwidth, smClocksAt, smsOfShare } from './gpu-spec.js'
export { findGpuSpec, gpuSpecs } from './boards.js'
export { formatPlatformFile, parsePlatformFile, PlatformFileError } from './platform-file.js'
export { snapDown, snapNearest, snapUp } from './snap.js'
export { networkName, type NetworkName, networkNames } from './network-names.js'
export {
  assertTenants,
  type Configuration,
  MAX_MPS_CLIENTS,
  type OperatingPoint,
  sameProcess,
  type Tenant,
} from './configuration.js'
export type { ClocksEventReason, Telemetry } from './telemetry.js'
export type { Gpu, GpuInfo, GpuLease } from './gpu.js'
export type { TenantCounters, TenantPool, TenantState } from './tenant-pool.js'
export { LatencyHistogram } from './latency-histogram.js'
export { type Clock, systemClock, VirtualClock } from './clock.js'
export { type CapSchedule, type CapStep, capAt, capSchedule, fixedCap } from './cap-schedule.js'
export { formatTraceCsv, traceColumns, traceFields, type TraceRow } from './trace.js'
export { SeededRandom, seedFrom } from './seeded-random.js'
export { InfeasibleCapError, InvalidInputError, PctodlError, UnknownNameError } from './errors.js'
export { parseTraceCsv, TraceFormatError } from './trace-csv.js'
export { anySignal } from './any-signal.js'
