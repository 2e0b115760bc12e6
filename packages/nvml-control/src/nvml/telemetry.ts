import { systemClock, type Telemetry } from '@pctodl/platform'
import { clocksEventReasons } from './event-reasons.js'
import type { NvmlDevice } from './nvml-device.js'
import { meansGone, NvmlError } from './nvml-error.js'

/** The errors of the fields that are null in a sample, by NVML call. */
export type FailedReads = Map<string, NvmlError>

/** Reads one sample. A field that fails is null, and `failed` gets its error. @throws NvmlError `GPU_LOST`, ... */
export function readTelemetry(device: NvmlDevice, failed: FailedReads = new Map()): Telemetry {
  failed.clear()
  const unlessFailed = <T>(read: () => T): T | null => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof NvmlError) || meansGone(error.nvmlCode)) throw error
      failed.set(error.call, error)
      return null
    }
  }
  const beforeMs = systemClock.now()
  const utilization = unlessFailed(() => device.utilizationPercent())
  const fields = {
    powerAverageW: unlessFailed(() => device.powerAverageW()),
    powerInstantW: unlessFailed(() => device.powerInstantW()),
    energyJ: unlessFailed(() => device.energyJ()),
    smClockMhz: unlessFailed(() => device.smClockMhz()),
    memClockMhz: unlessFailed(() => device.memClockMhz()),
    smUtilPercent: utilization?.sm ?? null,
    memUtilPercent: utilization?.mem ?? null,
    temperatureC: unlessFailed(() => device.temperatureC()),
    memoryUsedBytes: unlessFailed(() => device.memory().usedBytes),
    clocksEventReasons: clocksEventReasons(unlessFailed(() => device.eventReasons()) ?? 0),
  }
  // Reading all fields takes some time. The time stamp is the middle of this time.
  return { timeMs: (beforeMs + systemClock.now()) / 2, ...fields }
}
