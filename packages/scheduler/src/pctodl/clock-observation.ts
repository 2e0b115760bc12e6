import type { ClockObservation } from '@pctodl/thermo-dvfs'
import type { SampleObservation } from '../policy.js'

/** Converts a sample to the clock controller's observation. */
export function clockObservation(sample: SampleObservation): ClockObservation {
  const { timeMs, telemetry, powerCapW, reconfiguring, applied, smClockRefusedMs } = sample
  const { activeShare = null, stallNoticeMs, meterPowerW = null } = sample
  const { powerAverageW, powerInstantW, smClockMhz, energyJ, clocksEventReasons } = telemetry
  return {
    timeMs,
    powerCapW,
    powerAverageW,
    powerInstantW,
    smClockMhz,
    // Without running tenants, the measured power does not test the model of the tenants.
    loading: reconfiguring || applied.tenants.length === 0,
    refused: smClockRefusedMs > 0,
    energyJ,
    meterPowerW,
    idle: clocksEventReasons.includes('gpu-idle'),
    throttled: clocksEventReasons.some((reason) => reason !== 'gpu-idle'),
    activeShare,
    ...(stallNoticeMs === undefined ? {} : { stallNoticeMs }),
    powerLimitW: applied.powerLimitW,
  }
}
