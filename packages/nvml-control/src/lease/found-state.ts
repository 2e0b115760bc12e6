import type { BoardChange, ChangeKind } from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { orNull } from '../nvml/nvml-error.js'
import type { FoundState } from './lease-record.js'

const fields = {
  'power-limit': 'powerLimitW',
  'compute-mode': 'computeMode',
  persistence: 'persistence',
  'sm-clock': 'smClockLock',
  'mem-clock': 'memClockLock',
} as const satisfies Record<ChangeKind, keyof FoundState>

/**
 * Returns the current settings of a board. NVML cannot read clock locks, so the caller passes them: the locks that the
 * operator declared, or null.
 */
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

/** Returns a copy of `found` in which the setting `kind` has its current value. */
export function foundAnew(found: FoundState, kind: ChangeKind, device: NvmlDevice): FoundState {
  return { ...found, [fields[kind]]: foundState(device, found)[fields[kind]] }
}

/** Returns the change that restores a setting to its original value; null if that value is unknown. */
export function changeBack(kind: ChangeKind, found: FoundState): BoardChange | null {
  const { powerLimitW, computeMode, persistence } = found
  switch (kind) {
    case 'sm-clock':
      return { kind, range: found.smClockLock }
    case 'mem-clock':
      return { kind, range: found.memClockLock }
    case 'power-limit':
      return powerLimitW === null ? null : { kind, powerLimitW }
    case 'compute-mode':
      return computeMode === null ? null : { kind, mode: computeMode }
    case 'persistence':
      return persistence === null ? null : { kind, enabled: persistence }
  }
}
