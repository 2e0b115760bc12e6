import type { ClockStates } from '@pctodl/platform'
import type { NvmlDevice, PowerLimits } from '../nvml/nvml-device.js'
import { orNull } from '../nvml/nvml-error.js'

/** The constant properties of a board that NVML reports. Those that it does not report are null. */
export interface BoardFacts {
  readonly index: number
  readonly name: string
  readonly uuid: string
  readonly pciBusId: string
  /** PCI device id followed by the vendor id, e.g. `220810DE`. */
  readonly pciDeviceId: string
  readonly architecture: string
  readonly computeCapability: string
  readonly smCount: number | null
  readonly memoryBytes: number
  readonly memoryBusBits: number | null
  /** SM clocks of each memory clock; empty if the board reports no supported clocks. */
  readonly clockStates: readonly ClockStates[]
  readonly defaultApplicationClockMhz: number | null
  readonly powerLimitW: PowerLimits | null
  readonly thermalLimitC: number | null
}

export function boardFacts(device: NvmlDevice): BoardFacts {
  return {
    index: device.index,
    name: device.name,
    uuid: device.uuid,
    pciBusId: device.pciBusId,
    pciDeviceId: device.pciDeviceId.toString(16).toUpperCase().padStart(8, '0'),
    architecture: device.architecture,
    computeCapability: device.computeCapability,
    smCount: device.smCount,
    memoryBytes: device.memory().totalBytes,
    memoryBusBits: orNull(() => device.memoryBusBits),
    clockStates: device.supportedClocks(),
    defaultApplicationClockMhz: device.defaultApplicationClockMhz(),
    powerLimitW: orNull(() => device.powerLimits()),
    thermalLimitC: device.thermalLimitC(),
  }
}
