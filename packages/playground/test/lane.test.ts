import type { ServiceReading } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { Lane, padded, timesOf } from '../site/run/lane.js'
import type { Reading, RunFrame } from '../site/run/run-frame.js'

const empty: RunFrame = { readings: [], windows: [], said: [], services: [] }

function reading(service: string, counts: Partial<ServiceReading>): ServiceReading {
  const none = { arrived: 0, completed: 0, late: 0, shed: 0, failed: 0, queued: 0 }
  return { service, ...none, ...counts } as ServiceReading
}

const at = (timeMs: number, ...of: readonly ServiceReading[]): RunFrame => ({ ...empty, services: [{ timeMs, of }] })

describe('a lane', () => {
  it('counts as in time what was completed and not late, of all that was decided', () => {
    const lane = new Lane('pctodl', '--network-1')
    lane.add(at(1000, reading('a', { arrived: 10, completed: 6, late: 2, shed: 1, failed: 1, queued: 2 })))
    expect(lane.servedOf(5)).toEqual([{ service: 'a', arrivedPerS: 10, attainment: 4 / 8, queued: 2 }])
    expect(lane.attainment[1]).toBe(50)
    // Of the last 5 s alone: 20 more completed, 5 of them late.
    lane.add(at(6000, reading('a', { arrived: 40, completed: 26, late: 7, shed: 1, failed: 1, queued: 12 })))
    expect(lane.servedOf(5)).toEqual([{ service: 'a', arrivedPerS: 6, attainment: 15 / 20, queued: 12 }])
    // The reading before 5 s ago is where the count begins, and nothing that is older.
    lane.add(at(12_000, reading('a', { arrived: 46, completed: 27, late: 8, shed: 2, failed: 1, queued: 16 })))
    expect(lane.servedOf(5)).toEqual([{ service: 'a', arrivedPerS: 1, attainment: 0, queued: 16 }])
  })

  it('knows no share where nothing was decided, and shows the worst service and all that wait', () => {
    const lane = new Lane('pctodl', '--network-1')
    expect(lane.servedOf(5)).toEqual([])
    lane.add(at(0, reading('a', { arrived: 1, queued: 1 }), reading('b', { queued: 4 })))
    expect(lane.servedOf(5).map(({ attainment, arrivedPerS }) => [attainment, arrivedPerS])).toEqual([
      [null, 0],
      [null, 0],
    ])
    expect(lane.attainment).toEqual([null])
    lane.add(at(2000, reading('a', { completed: 4, late: 1, queued: 3 }), reading('b', { completed: 10, queued: 4 })))
    expect(lane.attainment).toEqual([null, null, 75])
    expect(lane.waiting).toEqual([5, 5, 7])
  })

  it('puts readings on tenths of a second, and a rate on the whole of its window', () => {
    const lane = new Lane('pctodl', '--network-1')
    const readings: Reading[] = [
      [100, 90, 200, 1500, 50],
      [400, 95, 180, null, 51],
    ]
    lane.add({
      ...empty,
      readings,
      windows: [{ endMs: 300, throughput: 7 }],
      said: [{ timeMs: 3, text: 'x' }],
      tenants: 'two',
    })
    expect(lane.powerW).toEqual([null, 90, 90, 90, 95])
    expect(lane.powerCapW).toEqual([null, 200, 200, 200, 180])
    expect(lane.smClockMhz).toEqual([null, 1500, 1500, 1500, null])
    expect(lane.temperatureC).toEqual([null, 50, 50, 50, 51])
    expect(lane.throughput).toEqual([7, 7, 7, 7])
    lane.add({ ...empty, windows: [{ endMs: 500, throughput: 9 }] })
    expect(lane.throughput).toEqual([7, 7, 7, 9, 9, 9])
    expect([lane.timeS, lane.tenants, lane.said.length, lane.length]).toEqual([0.4, 'two', 1, 6])
    expect(timesOf([lane, new Lane('none', '--network-2')])).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    expect(timesOf([])).toEqual([])
    expect(padded(lane.powerW, 6)).toEqual([null, 90, 90, 90, 95, null])
  })

  it('shows a record with where it comes from', () => {
    const lane = Lane.ofRecord(
      { policy: 'mine', board: 'A100', durationS: 10, frame: { ...empty, tenants: 'one' }, outcome: { notes: [] } },
      '--network-2',
      'mine.jsonl',
    )
    expect(lane).toMatchObject({
      name: 'mine',
      color: '--network-2',
      source: 'mine.jsonl, A100',
      tenants: 'one',
      outcome: { notes: [] },
    })
  })
})
