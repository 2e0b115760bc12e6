export {
  type ClockStates,
  type GpuSpec,
  memoryBandwidth,
  memoryTypeOf,
  narrowOpPerClockPerSm,
  smClocksAt,
  smsOfShare,
} from './gpu-spec.js'
export { addGpuSpec, findGpuSpec, gpuSpecs } from './boards.js'
export {
  findMigGeometry,
  freePlacements,
  type MigGeometry,
  type MigPlacement,
  type MigSlot,
  migGeometries,
  migLayouts,
} from './mig-geometry.js'
export {
  assignStarts,
  COMPUTE_SLICES,
  findMigBoard,
  footprints,
  geometryOf,
  isSegmentSize,
  type MigBoard,
  migBoardKeys,
  type Placement,
  placementConflict,
  type SegmentSize,
  segmentSizes,
} from './mig-placement.js'
export {
  findMigProfile,
  MEMORY_SLICES,
  type MigProfile,
  migBoard,
  migProfiles,
} from './mig-profiles.js'
export { formatPlatformFile, parsePlatformFile, PlatformFileError, readPlatform } from './platform-file.js'
export { snapDown, snapNearest } from './snap.js'
export { networkName, type NetworkName, networkNames } from './network-names.js'
export type { NetworkWork } from './network-work.js'
export {
  assertTenants,
  type Configuration,
  MAX_MPS_CLIENTS,
  type OperatingPoint,
  sameProcess,
  type Tenant,
} from './configuration.js'
export type { Arrivals } from './arrivals.js'
export { assertServices, type Service } from './service.js'
export type { ServiceDesk } from './service-desk.js'
export {
  attainmentBetween,
  type RequestOutcome,
  type ServiceCounters,
  unaccountedRequests,
  readingOf,
  type ServiceReading,
} from './service-counters.js'
export type { ClocksEventReason, Telemetry } from './telemetry.js'
export type { MeasuredWindow } from './measured-window.js'
export type { Gpu, GpuInfo, GpuLease } from './gpu.js'
export type { BoardOccupancy, BoardProcess, TenantPlace } from './board-occupancy.js'
export type { TenantCounters, TenantPool, TenantProcess, TenantState } from './tenant-pool.js'
export { hasFallen, isStalled, type RateValidity, tenantRate, worstValidity } from './tenant-rate.js'
export { LatencyHistogram } from './latency-histogram.js'
export { type Clock, systemClock, VirtualClock } from './clock.js'
export { Sleepers } from './sleepers.js'
export { type CapSchedule, type CapStep, capAt, capSchedule, fixedCap } from './cap-schedule.js'
export { formatTraceCsv, traceColumns, traceFields, type TraceRow } from './trace.js'
export { InfeasibleCapError, InvalidInputError, PctodlError, reasonOf, UnknownNameError } from './errors.js'
export { assertKnownOptions } from './known-options.js'
export { given } from './given.js'
export { groupBy } from './group-by.js'
export { anySignal } from './any-signal.js'
