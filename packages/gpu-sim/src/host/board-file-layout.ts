import { Layout, list, text, u32, u32s, u64, type Values } from './binary-layout.js'

/** First word of a board file. */
export const BOARD_MAGIC = 0x4d495350
/** Raised with every change of the layout; a library of another version refuses the file. */
export const BOARD_LAYOUT_VERSION = 2
/** The id of a process's instance where there is none. */
export const NO_INSTANCE = 0xffffffff
/** Stands for "this board does not tell" in a 32-bit field. */
export const NOT_TOLD = 0xffffffff
/** Stands for "this could not be read now". */
export const NOT_READ = 0xfffffffe
/** The same in a 64-bit field. */
export const NOT_READ_64 = Number.MAX_SAFE_INTEGER

export const MAX_MEMORY_CLOCKS = 16
export const MAX_SM_CLOCKS = 256
export const MAX_PROCESSES = 64
export const MAX_MIG_PROFILES = 8
/** GPU instances, and compute instances, of a board at a time. */
export const MAX_MIG_INSTANCES = 7
/** GPU instances are numbered by where they lie: 0 to 14. */
export const GPU_INSTANCE_IDS = 15
export const COMPUTE_INSTANCE_IDS = 7
export const REQUEST_SLOTS = 32

export const boardHeader = new Layout('board_header', {
  magic: u32,
  version: u32,
  /** Odd while `board_state` is being written. */
  sequence: u32,
  /** See `boardPresences`. */
  presence: u32,
  simulatorPid: u32,
  gpuCount: u32,
  gpuIndex: u32,
  /** Who may change the board; see `privileges`. */
  privilege: u32,
  /** CLOCK_MONOTONIC of the last sign of life, ns. */
  heartbeatNs: u64,
})

/** A GPU instance profile as the driver tells it. */
export const migProfile = new Layout('mig_profile', {
  name: text(32),
  memoryMb: u64,
  /** The number by which instances are created, as `nvidia-smi mig -lgip` lists it. */
  id: u32,
  /** NVML_GPU_INSTANCE_PROFILE_*. */
  nvmlProfile: u32,
  sliceCount: u32,
  instanceCount: u32,
  smCount: u32,
  /** SMs of a compute instance of one slice. */
  smPerSlice: u32,
  copyEngines: u32,
  decoders: u32,
  jpegs: u32,
  ofas: u32,
  memorySlices: u32,
  placementCount: u32,
  placements: u32s(MAX_MIG_INSTANCES),
})

export const gpuInstance = new Layout('gpu_instance', {
  usedBytes: u64,
  reservedBytes: u64,
  id: u32,
  /** Index into the profiles of the identity. */
  profile: u32,
  /** First memory slice. */
  start: u32,
  /** Compute slices in use by compute instances, a bit each. */
  takenSlices: u32,
})

/** A compute instance is what programs see as a MIG device. */
export const computeInstance = new Layout('compute_instance', {
  uuid: text(80),
  gpuInstanceId: u32,
  id: u32,
  sliceCount: u32,
  /** First compute slice in its GPU instance. */
  start: u32,
  smCount: u32,
})

/** What does not change while the host runs. Clocks in MHz, descending, as the driver lists them. */
export const boardIdentity = new Layout('board_identity', {
  name: text(96),
  uuid: text(80),
  busId: text(32),
  driverVersion: text(80),
  nvmlVersion: text(80),
  vbiosVersion: text(32),
  cudaDriverVersion: u32,
  pciDomain: u32,
  pciBus: u32,
  pciDevice: u32,
  pciDeviceId: u32,
  pciSubsystemId: u32,
  brand: u32,
  architecture: u32,
  computeMajor: u32,
  computeMinor: u32,
  coreCount: u32,
  memoryBusBits: u32,
  pcieGenMax: u32,
  pcieWidthMax: u32,
  /** Flags, 0 or 1. */
  hasEcc: u32,
  hasMig: u32,
  hasMemoryTemperature: u32,
  hasApplicationClocks: u32,
  hasInstantPower: u32,
  fanCount: u32,
  memoryTotalBytes: u64,
  memoryReservedBytes: u64,
  bar1TotalBytes: u64,
  powerMinMw: u32,
  powerDefaultMw: u32,
  powerMaxMw: u32,
  temperatureMaxC: u32,
  temperatureSlowdownC: u32,
  temperatureShutdownC: u32,
  defaultSmClockMhz: u32,
  memClockCount: u32,
  memClocksMhz: u32s(MAX_MEMORY_CLOCKS),
  smClockCounts: u32s(MAX_MEMORY_CLOCKS),
  /** `MAX_SM_CLOCKS` entries per memory clock. */
  smClocksMhz: u32s(MAX_MEMORY_CLOCKS * MAX_SM_CLOCKS),
  migProfileCount: u32,
  migProfiles: list(migProfile, MAX_MIG_PROFILES),
})

export const boardProcess = new Layout('board_process', {
  usedBytes: u64,
  pid: u32,
  /** 1 for a client of an MPS server. */
  isMpsClient: u32,
  smUtilPercent: u32,
  memUtilPercent: u32,
  /** `NO_INSTANCE` on an undivided board. */
  gpuInstanceId: u32,
  computeInstanceId: u32,
  name: text(96),
})

/** What changes; guarded by the header's sequence. */
export const boardState = new Layout('board_state', {
  /** Wall-clock time of the reading, us since 1970. */
  timestampUs: u64,
  energyMj: u64,
  memoryUsedBytes: u64,
  violationPowerNs: u64,
  violationThermalNs: u64,
  eventReasons: u32,
  powerAverageMw: u32,
  powerInstantMw: u32,
  powerLimitMw: u32,
  smClockMhz: u32,
  memClockMhz: u32,
  videoClockMhz: u32,
  smUtilPercent: u32,
  memUtilPercent: u32,
  temperatureC: u32,
  memoryTemperatureC: u32,
  fanPercent: u32,
  pstate: u32,
  pcieGen: u32,
  pcieRxKbps: u32,
  pcieTxKbps: u32,
  computeMode: u32,
  persistenceMode: u32,
  applicationSmClockMhz: u32,
  applicationMemClockMhz: u32,
  migCurrent: u32,
  migPending: u32,
  gpuInstanceCount: u32,
  gpuInstances: list(gpuInstance, MAX_MIG_INSTANCES),
  computeInstanceCount: u32,
  computeInstances: list(computeInstance, MAX_MIG_INSTANCES),
  processCount: u32,
  processes: list(boardProcess, MAX_PROCESSES),
})

/**
 * A setter's request. The caller claims a slot by swapping its pid into `owner`, writes the arguments, then a new
 * `sequence`; the simulator answers with `result`, where it has one a `value`, and then the same number in `ack`.
 */
export const boardRequest = new Layout('board_request', {
  owner: u32,
  sequence: u32,
  operation: u32,
  first: u32,
  second: u32,
  third: u32,
  result: u32,
  value: u32,
  ack: u32,
})

export type BoardHeader = Values<ConstructorArgument<typeof boardHeader>>
export type BoardIdentity = Values<ConstructorArgument<typeof boardIdentity>>
export type BoardProcess = Values<ConstructorArgument<typeof boardProcess>>
export type MigProfileFacts = Values<ConstructorArgument<typeof migProfile>>
export type GpuInstanceState = Values<ConstructorArgument<typeof gpuInstance>>
export type ComputeInstanceState = Values<ConstructorArgument<typeof computeInstance>>
export type BoardState = Values<ConstructorArgument<typeof boardState>>
export type BoardRequest = Values<ConstructorArgument<typeof boardRequest>>
type ConstructorArgument<L> = L extends Layout<infer F> ? F : never

/** Where the parts lie in a board file, bytes. */
export const boardFile = (() => {
  const identity = 64
  const state = identity + boardIdentity.bytes
  const requests = state + boardState.bytes
  const bytes = Math.ceil((requests + REQUEST_SLOTS * boardRequest.bytes) / 4096) * 4096
  return { header: 0, identity, state, requests, bytes }
})()

/** Whether a board answers: as usual, not any more (it fell off the bus), or the simulator has left with all of them. */
export const boardPresences = { present: 0, lost: 1, stopped: 2 } as const

/** Who may change a board: root as with the driver, nobody (so that the refusal can be tested), or everyone. */
export const privileges = { root: 0, nobody: 1, everyone: 2 } as const

export type Privilege = keyof typeof privileges

/** A request leaves the choice of a placement to the board. */
export const ANY_PLACEMENT = 0xffffffff

/** Setters that a request can name. */
export const operations = {
  setPowerLimit: 1,
  lockSmClock: 2,
  resetSmClock: 3,
  lockMemClock: 4,
  resetMemClock: 5,
  setComputeMode: 6,
  setPersistenceMode: 7,
  setApplicationClocks: 8,
  resetApplicationClocks: 9,
  /** first: mode. Value: what became of its activation. */
  setMigMode: 10,
  /** first: profile id, second: first memory slice or `ANY_PLACEMENT`. Value: id. */
  createGpuInstance: 11,
  /** first: id. */
  destroyGpuInstance: 12,
  /** first: GPU instance, second: slices, third: first slice or `ANY_PLACEMENT`. Value: id. */
  createComputeInstance: 13,
  /** first: GPU instance, second: id. */
  destroyComputeInstance: 14,
} as const

export type OperationName = keyof typeof operations

/** The header that `native/*.c` include. */
export function boardFileHeaderC(): string {
  const constants = {
    BOARD_MAGIC: `0x${BOARD_MAGIC.toString(16)}u`,
    BOARD_LAYOUT_VERSION: `${BOARD_LAYOUT_VERSION}u`,
    NOT_TOLD: `0x${NOT_TOLD.toString(16)}u`,
    NOT_READ: `0x${NOT_READ.toString(16)}u`,
    NOT_READ_64: `0x${NOT_READ_64.toString(16)}ull`,
    MAX_MEMORY_CLOCKS,
    MAX_SM_CLOCKS,
    MAX_PROCESSES,
    MAX_MIG_PROFILES,
    MAX_MIG_INSTANCES,
    GPU_INSTANCE_IDS,
    COMPUTE_INSTANCE_IDS,
    REQUEST_SLOTS,
    NO_INSTANCE: `0x${NO_INSTANCE.toString(16)}u`,
    ANY_PLACEMENT: `0x${ANY_PLACEMENT.toString(16)}u`,
    BOARD_IDENTITY_OFFSET: boardFile.identity,
    BOARD_STATE_OFFSET: boardFile.state,
    BOARD_REQUESTS_OFFSET: boardFile.requests,
    BOARD_FILE_BYTES: boardFile.bytes,
  }
  const presenceNames = Object.entries(boardPresences).map(([name, code]) => [`BOARD_${constantCase(name)}`, code])
  const privilegeNames = Object.entries(privileges).map(([name, code]) => [`PRIVILEGE_${constantCase(name)}`, code])
  const operationNames = Object.entries(operations).map(([name, code]) => [`OPERATION_${constantCase(name)}`, code])
  return [
    '/* Printed from src/host/board-file-layout.ts; edit that. */',
    '#pragma once',
    '#include <stddef.h>',
    '#include <stdint.h>',
    ...[...Object.entries(constants), ...presenceNames, ...privilegeNames, ...operationNames].map(
      ([name, value]) => `#define ${name} ${value}`,
    ),
    '',
    ...[
      boardHeader,
      migProfile,
      boardIdentity,
      boardProcess,
      gpuInstance,
      computeInstance,
      boardState,
      boardRequest,
    ].map((layout) => layout.toC()),
  ].join('\n')
}

function constantCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}
