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

/** The reasons that the platform distinguishes. All hardware slowdowns count as one reason. */
const platformBits: Readonly<Record<ClocksEventReason, number>> = {
  'gpu-idle': 0x1,
  'sw-power-cap': 0x4,
  'sw-thermal-slowdown': 0x20,
  'hw-slowdown': 0x8 | 0x40 | 0x80,
}

export function eventReasonNames(bits: number): EventReasonName[] {
  return namesIn(eventReasonBits, bits)
}

export function clocksEventReasons(bits: number): ClocksEventReason[] {
  return namesIn(platformBits, bits)
}

function namesIn<Name extends string>(table: Readonly<Record<Name, number>>, bits: number): Name[] {
  return (Object.keys(table) as Name[]).filter((name) => (bits & table[name]) !== 0)
}
