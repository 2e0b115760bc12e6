import { systemClock, type Telemetry } from '@pctodl/platform'
import { LeaseFolder } from '../lease/lease-folder.js'
import { commandLineOf } from '../lease/process-identity.js'
import type { ComputeMode } from '../nvml/compute-mode.js'
import type { EventReasonName } from '../nvml/event-reasons.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { orNull } from '../nvml/nvml-error.js'
import type { ComputeProcess } from '../nvml/processes.js'
import { TelemetryReader } from '../nvml/telemetry-reader.js'

/** The current state of one board. */
export interface BoardStatus {
  readonly index: number
  readonly name: string
  readonly uuid: string
  readonly telemetry: Telemetry
  readonly eventReasons: readonly EventReasonName[] | null
  readonly powerLimitW: number | null
  readonly enforcedPowerLimitW: number | null
  readonly defaultPowerLimitW: number | null
  readonly memoryBytes: number
  readonly computeMode: ComputeMode | null
  readonly persistence: boolean | null
  readonly processes: readonly (ComputeProcess & { readonly command: string | null })[]
  /**
   * Whether a process holds the board's lease, by this user's lease folder; null if the folder belongs to another user.
   */
  readonly leased: boolean | null
  /** Pid of the process that holds the lease; null if there is none or its pid is not visible. */
  readonly leasedBy: number | null
}

/**
 * Reads the current state of a board.
 * @throws NvmlError if the board can no longer be read
 */
export function boardStatus(device: NvmlDevice, leaseFolder?: string): BoardStatus {
  const { uuid } = device
  const folder = new LeaseFolder(leaseFolder)
  const leasedBy = folder.holder(uuid)
  return {
    index: device.index,
    name: device.name,
    uuid,
    telemetry: new TelemetryReader(device, systemClock).read(),
    eventReasons: orNull(() => device.eventReasonNames()),
    powerLimitW: orNull(() => device.powerLimitW()),
    enforcedPowerLimitW: orNull(() => device.enforcedPowerLimitW()),
    defaultPowerLimitW: orNull(() => device.powerLimits().defaultW),
    memoryBytes: device.memory().totalBytes,
    computeMode: orNull(() => device.computeMode()),
    persistence: orNull(() => device.persistence()),
    processes: device.computeProcesses().map((process) => ({ ...process, command: commandLineOf(process.pid) })),
    leased: leasedBy !== null ? true : folder.isVisible() ? false : null,
    leasedBy,
  }
}
