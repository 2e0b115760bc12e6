import { eventReasonBits } from '../nvml/event-reasons.js'

/**
 * Where a clock reading lies, compared with the maximum of its lock. `held-below`: an event reason lowers the clock, so
 * the reading does not show whether the lock is in force.
 */
export type ClockPlace = 'above' | 'top' | 'held-below' | 'below'

/**
 * Clocks that differ by at most this much count as equal, MHz. The driver rounds to the nearest supported clock, and
 * supported clocks are at most 15 MHz apart.
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
