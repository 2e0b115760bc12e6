import { counted, Layout, list, text, u32, u32s, u64, words } from './binary-layout.js'

/** First word of a board file. */
export const BOARD_MAGIC = 0x4d495350
/** Incremented with every change of the layout. The native library rejects files of another version. */
export const BOARD_LAYOUT_VERSION = 3
/** Value of the GPU instance id and compute instance id of a process on a board that is not divided by MIG. */
export const NO_INSTANCE = 0xffffffff
/** 32-bit value for a quantity that the board does not report. */
export const NOT_TOLD = 0xffffffff
/** 32-bit value for a quantity that could not be read. */
export const NOT_READ = 0xfffffffe
/** 64-bit value for a quantity that could not be read. */
export const NOT_READ_64: number = Number.MAX_SAFE_INTEGER

export const MAX_MEMORY_CLOCKS = 16
export const MAX_SM_CLOCKS = 256
export const MAX_PROCESSES = 64
export const MAX_MIG_PROFILES = 8
/** Maximum number of GPU instances, and of compute instances, per board. */
export const MAX_MIG_INSTANCES = 7
/** Number of possible GPU instance ids, 0 to 14. The size and position of an instance determine its id. */
export const GPU_INSTANCE_IDS = 15
export const COMPUTE_INSTANCE_IDS = 7
export const REQUEST_SLOTS = 32
/** Number of recent events that a board file keeps. */
export const EVENT_SLOTS = 64

export interface BoardHeader {
  magic: number
  version: number
  /** Sequence lock: odd while the simulator writes `board_state`. */
  sequence: number
  /** See `boardPresences`. */
  presence: number
  simulatorPid: number
  gpuCount: number
  gpuIndex: number
  /** Who may change the board: one of the values of `privileges`. */
  privilege: number
  /** CLOCK_MONOTONIC time of the simulator's last heartbeat, ns. */
  heartbeatNs: number
}

export const boardHeader: Layout<BoardHeader> = new Layout('board_header', {
  magic: u32,
  version: u32,
  sequence: u32,
  presence: u32,
  simulatorPid: u32,
  gpuCount: u32,
  gpuIndex: u32,
  privilege: u32,
  heartbeatNs: u64,
})

const migProfileFacts = [
  /** Profile id that `nvidia-smi mig -lgip` lists and `-cgi` accepts. */
  'id',
  /** Profile number in NVML: an `NVML_GPU_INSTANCE_PROFILE_*` constant. */
  'nvmlProfile',
  'sliceCount',
  'instanceCount',
  'smCount',
  /** Number of SMs of a one-slice compute instance. */
  'smPerSlice',
  'copyEngines',
  'decoders',
  'jpegs',
  'ofas',
  'memorySlices',
] as const

/** A GPU instance profile as the driver reports it. */
export interface MigProfileFacts extends Record<(typeof migProfileFacts)[number], number> {
  name: string
  memoryMb: number
  placements: readonly number[]
}

export const migProfile: Layout<MigProfileFacts> = new Layout('mig_profile', {
  name: text(32),
  memoryMb: u64,
  ...words(migProfileFacts),
  placements: counted('placementCount', u32s(MAX_MIG_INSTANCES)),
})

export interface GpuInstanceState {
  usedBytes: number
  reservedBytes: number
  id: number
  /** Index of the instance's profile in the board's `migProfiles`. */
  profile: number
  /** First memory slice. */
  start: number
  /** Bit mask of the compute slices that this instance's compute instances occupy. */
  takenSlices: number
}

export const gpuInstance: Layout<GpuInstanceState> = new Layout('gpu_instance', {
  usedBytes: u64,
  reservedBytes: u64,
  id: u32,
  profile: u32,
  start: u32,
  takenSlices: u32,
})

/** A compute instance, which programs see as a MIG device. */
export interface ComputeInstanceState {
  uuid: string
  gpuInstanceId: number
  id: number
  sliceCount: number
  /** First compute slice of the compute instance, counted within its GPU instance. */
  start: number
  smCount: number
}

export const computeInstance: Layout<ComputeInstanceState> = new Layout('compute_instance', {
  uuid: text(80),
  gpuInstanceId: u32,
  id: u32,
  sliceCount: u32,
  start: u32,
  smCount: u32,
})

/**
 * Names of the 32-bit words that describe a board, in the order of the file. Words whose names begin with `has` are 0
 * or 1.
 */
const boardFacts = [
  'cudaDriverVersion',
  'pciDomain',
  'pciBus',
  'pciDevice',
  'pciDeviceId',
  'pciSubsystemId',
  'brand',
  'architecture',
  'computeMajor',
  'computeMinor',
  'coreCount',
  'memoryBusBits',
  'pcieGenMax',
  'pcieWidthMax',
  'hasEcc',
  'hasMig',
  'hasMemoryTemperature',
  'hasApplicationClocks',
  'hasInstantPower',
  'fanCount',
] as const
const boardLimits = [
  'powerMinMw',
  'powerDefaultMw',
  'powerMaxMw',
  'temperatureMaxC',
  'temperatureSlowdownC',
  'temperatureShutdownC',
  'defaultSmClockMhz',
] as const

/**
 * Board properties that do not change while the host runs. Clocks are in MHz, in descending order, as the driver lists
 * them.
 */
export interface BoardIdentity extends Record<(typeof boardFacts | typeof boardLimits)[number], number> {
  name: string
  uuid: string
  busId: string
  driverVersion: string
  nvmlVersion: string
  vbiosVersion: string
  memoryTotalBytes: number
  memoryReservedBytes: number
  bar1TotalBytes: number
  memClocksMhz: readonly number[]
  smClockCounts: readonly number[]
  /** SM clocks by memory clock, MHz. Each memory clock has `MAX_SM_CLOCKS` entries; unused entries are 0. */
  smClocksMhz: readonly number[]
  migProfiles: readonly MigProfileFacts[]
}

export const boardIdentity: Layout<BoardIdentity> = new Layout('board_identity', {
  name: text(96),
  uuid: text(80),
  busId: text(32),
  driverVersion: text(80),
  nvmlVersion: text(80),
  vbiosVersion: text(32),
  ...words(boardFacts),
  memoryTotalBytes: u64,
  memoryReservedBytes: u64,
  bar1TotalBytes: u64,
  ...words(boardLimits),
  memClocksMhz: counted('memClockCount', u32s(MAX_MEMORY_CLOCKS)),
  smClockCounts: u32s(MAX_MEMORY_CLOCKS),
  smClocksMhz: u32s(MAX_MEMORY_CLOCKS * MAX_SM_CLOCKS),
  migProfiles: counted('migProfileCount', list(migProfile, MAX_MIG_PROFILES)),
})

export interface BoardProcess {
  usedBytes: number
  pid: number
  /** 1 if the process is a client of an MPS server, else 0. */
  isMpsClient: number
  smUtilPercent: number
  memUtilPercent: number
  /** `NO_INSTANCE` on a board that is not divided by MIG. */
  gpuInstanceId: number
  computeInstanceId: number
  name: string
}

export const boardProcess: Layout<BoardProcess> = new Layout('board_process', {
  usedBytes: u64,
  pid: u32,
  isMpsClient: u32,
  smUtilPercent: u32,
  memUtilPercent: u32,
  gpuInstanceId: u32,
  computeInstanceId: u32,
  name: text(96),
})

/**
 * Names of the 32-bit words with a board's readings, in the order of the file. A missing reading is `NOT_TOLD` or
 * `NOT_READ`.
 */
const boardReadings = [
  'eventReasons',
  'powerAverageMw',
  'powerInstantMw',
  'powerLimitMw',
  'smClockMhz',
  'memClockMhz',
  'videoClockMhz',
  'smUtilPercent',
  'memUtilPercent',
  'temperatureC',
  'memoryTemperatureC',
  'fanPercent',
  'pstate',
  'pcieGen',
  'pcieRxKbps',
  'pcieTxKbps',
  'computeMode',
  'persistenceMode',
  'applicationSmClockMhz',
  'applicationMemClockMhz',
  'migCurrent',
  'migPending',
] as const

/**
 * State of a board that changes while the host runs. A reader compares the header's `sequence` before and after reading
 * to detect an inconsistent state.
 */
export interface BoardState extends Record<(typeof boardReadings)[number], number> {
  /** Wall-clock time of the reading, microseconds since 1970. */
  timestampUs: number
  energyMj: number
  memoryUsedBytes: number
  violationPowerNs: number
  violationThermalNs: number
  gpuInstances: readonly GpuInstanceState[]
  computeInstances: readonly ComputeInstanceState[]
  processes: readonly BoardProcess[]
}

export const boardState: Layout<BoardState> = new Layout('board_state', {
  timestampUs: u64,
  energyMj: u64,
  memoryUsedBytes: u64,
  violationPowerNs: u64,
  violationThermalNs: u64,
  ...words(boardReadings),
  gpuInstances: counted('gpuInstanceCount', list(gpuInstance, MAX_MIG_INSTANCES)),
  computeInstances: counted('computeInstanceCount', list(computeInstance, MAX_MIG_INSTANCES)),
  processes: counted('processCount', list(boardProcess, MAX_PROCESSES)),
})

/**
 * Words of a slot for requests to change a board. A program claims the slot by atomically writing its pid to `owner`,
 * writes the arguments, and then a new `sequence`. The simulator writes `result` and `value`, and finally copies
 * `sequence` to `ack`.
 */
const boardRequestWords = [
  'owner',
  'sequence',
  'operation',
  'first',
  'second',
  'third',
  'result',
  'value',
  'ack',
] as const
export interface BoardRequest extends Record<(typeof boardRequestWords)[number], number> {}

export const boardRequest: Layout<BoardRequest> = new Layout('board_request', words(boardRequestWords))

/** Event types of a board, with NVML's values (`nvmlEventType*`). */
export const boardEventTypes = { singleBitEcc: 0x1, doubleBitEcc: 0x2, pstate: 0x4, xid: 0x8, clock: 0x10 } as const

export type BoardEventType = keyof typeof boardEventTypes

export interface BoardEvent {
  type: number
  /** XID number, for an XID event. */
  data: number
}

export const boardEvent: Layout<BoardEvent> = new Layout('board_event', { type: u64, data: u64 })

/**
 * Ring buffer of the latest events. Event `i` is in slot `i % EVENT_SLOTS`. It is complete once `count` is greater than
 * `i`.
 */
export interface BoardEvents {
  events: readonly BoardEvent[]
  count: number
}

export const boardEvents: Layout<BoardEvents> = new Layout('board_events', {
  events: list(boardEvent, EVENT_SLOTS),
  count: u32,
})

/** Byte offsets of the parts of a board file, and the file's size (bytes). */
export interface BoardFileOffsets {
  readonly header: number
  readonly identity: number
  readonly state: number
  readonly requests: number
  readonly events: number
  readonly bytes: number
}

export const boardFile: BoardFileOffsets = (() => {
  const identity = 64
  const state = identity + boardIdentity.bytes
  const requests = state + boardState.bytes
  const events = Math.ceil((requests + REQUEST_SLOTS * boardRequest.bytes) / 8) * 8
  const bytes = Math.ceil((events + boardEvents.bytes) / 4096) * 4096
  return { header: 0, identity, state, requests, events, bytes }
})()

/**
 * Whether programs reach a board: `present` boards respond, `lost` boards fell off the bus, and `stopped` boards have
 * no driver or no simulator.
 */
export const boardPresences = { present: 0, lost: 1, stopped: 2 } as const

/** Who may change a board: only root, as with the driver; nobody, to test refusals; or everyone. */
export const privileges = { root: 0, nobody: 1, everyone: 2 } as const

export type Privilege = keyof typeof privileges

/** Argument of a create request that lets the board choose the placement. */
export const ANY_PLACEMENT = 0xffffffff

/** Setters of a request. */
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
  /** Argument `first`: MIG mode. Answer: NVML's return code of activating the mode. */
  setMigMode: 10,
  /** Arguments: profile id, first memory slice or `ANY_PLACEMENT`. Answer: id of the new GPU instance. */
  createGpuInstance: 11,
  /** Argument: GPU instance id. */
  destroyGpuInstance: 12,
  /**
   * Arguments: GPU instance id, number of slices, first slice or `ANY_PLACEMENT`. Answer: id of the new compute
   * instance.
   */
  createComputeInstance: 13,
  /** Arguments: GPU instance id, compute instance id. */
  destroyComputeInstance: 14,
} as const

export type OperationName = keyof typeof operations

/** Returns the C header that `native/*.c` include. */
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
    EVENT_SLOTS,
    NO_INSTANCE: `0x${NO_INSTANCE.toString(16)}u`,
    ANY_PLACEMENT: `0x${ANY_PLACEMENT.toString(16)}u`,
    BOARD_IDENTITY_OFFSET: boardFile.identity,
    BOARD_STATE_OFFSET: boardFile.state,
    BOARD_REQUESTS_OFFSET: boardFile.requests,
    BOARD_EVENTS_OFFSET: boardFile.events,
    BOARD_FILE_BYTES: boardFile.bytes,
  }
  const presenceNames = Object.entries(boardPresences).map(([name, code]) => [`BOARD_${constantCase(name)}`, code])
  const privilegeNames = Object.entries(privileges).map(([name, code]) => [`PRIVILEGE_${constantCase(name)}`, code])
  const eventNames = Object.entries(boardEventTypes).map(([name, code]) => [
    `EVENT_${constantCase(name)}`,
    `${code}ull`,
  ])
  const operationNames = Object.entries(operations).map(([name, code]) => [`OPERATION_${constantCase(name)}`, code])
  return [
    '/* Printed from src/host/board-file-layout.ts; edit that. */',
    '#pragma once',
    '#include <stddef.h>',
    '#include <stdint.h>',
    ...[...Object.entries(constants), ...presenceNames, ...privilegeNames, ...operationNames, ...eventNames].map(
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
      boardEvent,
      boardEvents,
    ].map((layout) => layout.toC()),
  ].join('\n')
}

function constantCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}
