export { findGpuSpec, gpuSpecs } from './boards.js'
export { type CapSchedule, type CapStep, capAt, capSchedule, fixedCap } from './cap-schedule.js'
export { type Clock, systemClock, VirtualClock } from './clock.js'
export {
  assertTenants,
  type Configuration,
  MAX_MPS_CLIENTS,
  type OperatingPoint,
  sameProcess,
  type Tenant,
} from './configuration.js'
export { InfeasibleCapError, InvalidInputError, PctodlError, UnknownNameError } from './errors.js'
export type { Gpu, GpuInfo, GpuLease } from './gpu.js'
export { type ClockStates, type GpuSpec, memoryBandwidth, smClocksAt, smsOfShare } from './gpu-spec.js'
export { type NetworkName, networkName, networkNames } from './network-names.js'
export { SeededRandom, seedFrom } from './seeded-random.js'
export { snapDown, snapNearest, snapUp } from './snap.js'
export type { ClocksEventReason, Telemetry } from './telemetry.js'
export type { TenantCounters, TenantPool, TenantState } from './tenant-pool.js'
export { formatTraceCsv, type TraceRow, traceColumns } from './trace.js'
