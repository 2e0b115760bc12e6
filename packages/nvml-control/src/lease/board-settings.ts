import type { BoardChange } from '../control/board-change.js'
import type { ComputeMode } from '../nvml/compute-mode.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'

/** NVML takes milliwatts; other tools write limits with two digits. */
const POWER_LIMIT_TOLERANCE_W = 0.05

/** The settings that NVML can read back. Clock locks are not among them. */
export type ReadableKind = 'power-limit' | 'compute-mode' | 'persistence'

/** @throws NvmlError */
export function readSetting(device: NvmlDevice, kind: ReadableKind): number | ComputeMode | boolean {
  switch (kind) {
    case 'power-limit':
      return device.powerLimitW()
    case 'compute-mode':
      return device.computeMode()
    case 'persistence':
      return device.persistence()
  }
}

/** Whether a setting read back is what a change asks for. */
export function isApplied(
  change: Extract<BoardChange, { readonly kind: ReadableKind }>,
  setting: number | ComputeMode | boolean,
): boolean {
  switch (change.kind) {
    case 'power-limit':
      return Math.abs(Number(setting) - change.powerLimitW) <= POWER_LIMIT_TOLERANCE_W
    case 'compute-mode':
      return setting === change.mode
    case 'persistence':
      return setting === change.enabled
  }
}
