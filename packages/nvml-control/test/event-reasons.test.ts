import { expect, it } from 'vitest'
import { clocksEventReasons, eventReasonBits, eventReasonNames } from '../src/nvml/event-reasons.js'

it('tells each reason of a clock in the words of the family, and passes over those that they have not', () => {
  const words = Object.entries(eventReasonBits).map(([name, bit]) => [name, clocksEventReasons(bit)])
  expect(Object.fromEntries(words)).toEqual({
    'gpu-idle': ['gpu-idle'],
    'applications-clocks-setting': [],
    'sw-power-cap': ['sw-power-cap'],
    'hw-slowdown': ['hw-slowdown'],
    'sync-boost': [],
    'sw-thermal-slowdown': ['sw-thermal-slowdown'],
    'hw-thermal-slowdown': ['hw-slowdown'],
    'hw-power-brake': ['hw-slowdown'],
    'display-clocks-setting': [],
  })
  expect(clocksEventReasons(0)).toEqual([])
})

it('tells several at once', () => {
  expect(clocksEventReasons(0x1ff)).toEqual(['gpu-idle', 'sw-power-cap', 'sw-thermal-slowdown', 'hw-slowdown'])
  expect(eventReasonNames(0x24)).toEqual(['sw-power-cap', 'sw-thermal-slowdown'])
  expect(eventReasonNames(0x1ff)).toEqual(Object.keys(eventReasonBits))
})
