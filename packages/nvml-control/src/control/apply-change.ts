import { computeModeCode } from '../nvml/compute-mode.js'
import type { NvmlCallName } from '../nvml/nvml-calls.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import type { BoardChange } from './board-change.js'
import type { BoardControl } from './board-control.js'

/** The driver's own setters. They need root. */
export function nvmlControl(device: NvmlDevice): BoardControl {
  return {
    // A setter takes the driver milliseconds, in which sampling must go on.
    apply: (change) => device.checkInBackground(...callOf(change)),
    applySync: (change) => device.check(...callOf(change)),
  }
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
