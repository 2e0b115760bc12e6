import { computeModeCode } from '../nvml/compute-mode.js'
import type { NvmlCallName } from '../nvml/nvml-calls.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import type { BoardChange } from './board-change.js'

/**
 * Changes a board through the driver, which needs root. The driver call takes milliseconds, so it runs on another
 * thread while sampling continues.
 *
 * @throws NvmlError `NO_PERMISSION`, `NOT_SUPPORTED`, `GPU_LOST`, ...
 */
export function applyChange(device: NvmlDevice, change: BoardChange): Promise<void> {
  return device.checkInBackground(...callOf(change))
}

function callOf(change: BoardChange): [NvmlCallName, ...number[]] {
  switch (change.kind) {
    case 'power-limit':
      return ['nvmlDeviceSetPowerManagementLimit', Math.round(change.powerLimitW * 1000)]
    case 'sm-clock':
      return change.range
        ? ['nvmlDeviceSetGpuLockedClocks', change.range.minMhz, change.range.maxMhz]
        : ['nvmlDeviceResetGpuLockedClocks']
    case 'mem-clock':
      return change.range
        ? ['nvmlDeviceSetMemoryLockedClocks', change.range.minMhz, change.range.maxMhz]
        : ['nvmlDeviceResetMemoryLockedClocks']
    case 'compute-mode':
      return ['nvmlDeviceSetComputeMode', computeModeCode(change.mode)]
    case 'persistence':
      return ['nvmlDeviceSetPersistenceMode', change.enabled ? 1 : 0]
  }
}
