import { eventReasonBits } from '../nvml/event-reasons.js'

/**
 * Position of a clock reading relative to the maximum of its lock. In position `held-below`, an event reason lowers the
 * clock, so the reading does not show whether the lock is in force.
 */
export type ClockPlace = 'above' | 'top' | 'held-below' | 'below'

/**
 * Tolerance of a clock comparison, MHz. The driver rounds to the nearest supported clock; clocks are at most 15 MHz
 * apart.
 */
export const TOLERANCE_MHZ = 15

const HOLDING =
  eventReasonBits['gpu-idle'] |
  eventReasonBits['sw-power-cap'] |
  eventReasonBits['hw-slowdown'] |
  eventReasonBits['sync-boost'] |
  eventReasonBits['sw-thermal-slowdown'] |
  eventReasonBits['hw-thermal-slowdown'] |
  eventReasonBits['hw-power-brake']

export function placeOf(readingMhz: number, maxMhz: number, eventReasons: number): ClockPlace {
  if (readingMhz > maxMhz + TOLERANCE_MHZ) return 'above'
  if (readingMhz >= maxMhz - TOLERANCE_MHZ) return 'top'
  return (eventReasons & HOLDING) !== 0 ? 'held-below' : 'below'
}
