import { eventReasonBits } from '../nvml/event-reasons.js'

/**
 * Where a clock is with regard to the top of its lock. `held-below`: an event reason keeps it lower, so that the reading
 * proves nothing.
 */
export type ClockPlace = 'above' | 'top' | 'held-below' | 'below'

/** The driver takes the nearest clock that the board has. Steps are 15 MHz, on old boards at most 13. */
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
