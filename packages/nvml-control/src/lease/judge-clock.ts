import type { ClockRange } from '../control/board-change.js'
import { eventReasonBits } from '../nvml/event-reasons.js'

/**
 * What a clock reading shows about a lock: `applied`: the clock is within it; `held-below`: an event reason keeps the
 * clock lower, so the reading proves nothing; `not-applied`: neither.
 */
export type ClockVerdict = 'applied' | 'held-below' | 'not-applied'

/** The driver takes the nearest clock that the board has. Steps are 15 MHz, on old boards at most 13. */
const TOLERANCE_MHZ = 15

const HOLDING =
  eventReasonBits['gpu-idle'] |
  eventReasonBits['sw-power-cap'] |
  eventReasonBits['hw-slowdown'] |
  eventReasonBits['sync-boost'] |
  eventReasonBits['sw-thermal-slowdown'] |
  eventReasonBits['hw-thermal-slowdown'] |
  eventReasonBits['hw-power-brake']

export function judgeClock(readingMhz: number, { minMhz, maxMhz }: ClockRange, eventReasons: number): ClockVerdict {
  if (readingMhz > maxMhz + TOLERANCE_MHZ) return 'not-applied'
  if (readingMhz >= minMhz - TOLERANCE_MHZ) return 'applied'
  return (eventReasons & HOLDING) !== 0 ? 'held-below' : 'not-applied'
}
