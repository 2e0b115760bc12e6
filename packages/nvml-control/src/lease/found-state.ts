import type { ChangeKind } from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { orNull } from '../nvml/nvml-error.js'
import type { FoundState } from './lease-record.js'

/** The settings of a board now. Clock locks cannot be read: they are those that the operator has declared, or none. */
export function foundState(
  device: NvmlDevice,
  { smClockLock, memClockLock }: Pick<FoundState, 'smClockLock' | 'memClockLock'>,
): FoundState {
  return {
    powerLimitW: orNull(() => device.powerLimitW()),
    computeMode: orNull(() => device.computeMode()),
    persistence: orNull(() => device.persistence()),
    smClockLock,
    memClockLock,
  }
}

const fields = {
  'power-limit': 'powerLimitW',
  'compute-mode': 'computeMode',
  persistence: 'persistence',
  'sm-clock': 'smClockLock',
  'mem-clock': 'memClockLock',
} as const satisfies Record<ChangeKind, keyof FoundState>

/** The same, with one setting as it is now. */
export function foundAnew(found: FoundState, kind: ChangeKind, device: NvmlDevice): FoundState {
  return { ...found, [fields[kind]]: foundState(device, found)[fields[kind]] }
}
