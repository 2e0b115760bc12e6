import type { ClocksEventReason } from '@pctodl/platform'

/** NVML's bits for clocks event reasons (`nvmlClocksEventReason...` in nvml.h). */
export const eventReasonBits = {
  'gpu-idle': 0x1,
  'applications-clocks-setting': 0x2,
  'sw-power-cap': 0x4,
  'hw-slowdown': 0x8,
  'sync-boost': 0x10,
  'sw-thermal-slowdown': 0x20,
  'hw-thermal-slowdown': 0x40,
  'hw-power-brake': 0x80,
  'display-clocks-setting': 0x100,
} as const

export type EventReasonName = keyof typeof eventReasonBits

export function eventReasonNames(bits: number): EventReasonName[] {
  return (Object.keys(eventReasonBits) as EventReasonName[]).filter((name) => (bits & eventReasonBits[name]) !== 0)
}

const HARDWARE =
  eventReasonBits['hw-slowdown'] | eventReasonBits['hw-thermal-slowdown'] | eventReasonBits['hw-power-brake']

const known = new Map<number, readonly ClocksEventReason[]>()

/**
 * Returns the names of the set bits. The list for each combination of bits is cached, so that sampling allocates no
 * memory.
 */
export function clocksEventReasons(bits: number): readonly ClocksEventReason[] {
  let reasons = known.get(bits)
  if (!reasons) {
    const found: ClocksEventReason[] = []
    if (bits & eventReasonBits['gpu-idle']) found.push('gpu-idle')
    if (bits & eventReasonBits['sw-power-cap']) found.push('sw-power-cap')
    if (bits & eventReasonBits['sw-thermal-slowdown']) found.push('sw-thermal-slowdown')
    if (bits & HARDWARE) found.push('hw-slowdown')
    reasons = found
    known.set(bits, reasons)
  }
  return reasons
}
