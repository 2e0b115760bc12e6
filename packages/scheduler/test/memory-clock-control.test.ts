import { describe, expect, it } from 'vitest'
import { MemoryClockControl, type MemoryClockObservation } from '../src/pctodl/memory-clock-control.js'

/** Controls the memory clock of a board whose power at the lowest SM clock is `60 + memClockMhz / 200` W. */
function board(memClockMhz: number, memClocksMhz = [9501, 5001, 810]) {
  const control = new MemoryClockControl(memClocksMhz, memClockMhz)
  return (timeMs: number, overrides: Partial<MemoryClockObservation> = {}): number => {
    const lowestPowerW = (mhz: number) => 60 + mhz / 200
    memClockMhz = control.step({
      timeMs,
      powerCapW: 100,
      infeasible: false,
      memClockMhz,
      lowestPowerW,
      ...overrides,
    })
    return memClockMhz
  }
}

describe('MemoryClockControl', () => {
  it('leaves the planned clock alone while the SM clock keeps the cap', () => {
    const step = board(9501)
    for (let timeMs = 0; timeMs < 60_000; timeMs += 100) expect(step(timeMs)).toBe(9501)
  })

  it('goes down state by state while the cap cannot be kept, and stays at the bottom', () => {
    const step = board(9501)
    const clocks = Array.from({ length: 60 }, (_, i) => step(100 * i, { infeasible: true }))
    expect(clocks.indexOf(5001)).toBe(2)
    expect(clocks.indexOf(810)).toBe(5)
    expect(clocks.at(-1)).toBe(810)
  })

  it('does not go down for readings of a moment', () => {
    const step = board(9501)
    for (let i = 0; i < 60; i++) expect(step(100 * i, { infeasible: i % 3 < 2 })).toBe(9501)
  })

  it('comes back once there has been room for long enough, never above the plan', () => {
    const step = board(5001)
    const lowered = [0, 1, 2].map((i) => step(100 * i, { infeasible: true }))
    expect(lowered.at(-1)).toBe(810)
    const clocks = Array.from({ length: 600 }, (_, i) => step(2000 + 100 * i))
    expect(clocks.indexOf(5001)).toBe(200)
    expect(Math.max(...clocks)).toBe(5001)
  })

  it('comes back where the lowest SM clock draws at most 95 % of the cap', () => {
    const raised = (powerCapW: number) => {
      const step = board(9501)
      for (let i = 0; i <= 2; i++) step(100 * i, { infeasible: true })
      for (let i = 3; i < 210; i++) step(100 * i, { powerCapW, lowestPowerW: () => 95 })
      return step(21_000, { powerCapW, lowestPowerW: () => 95 })
    }
    expect([raised(100), raised(99.9)]).toEqual([9501, 5001])
  })

  it('waits twice as long after each raise that had to be taken back, up to 64 times', () => {
    const step = board(9501)
    let memClockMhz = 9501
    const raisesMs: number[] = []
    for (let timeMs = 0; raisesMs.length < 9; timeMs += 200) {
      // The prediction shows headroom that does not exist.
      const next = step(timeMs, { infeasible: memClockMhz === 9501, lowestPowerW: () => 80 })
      if (next > memClockMhz) raisesMs.push(timeMs)
      memClockMhz = next
    }
    const waitsMs = raisesMs.map((raisedMs, i) => raisedMs - (raisesMs[i - 1] ?? 0))
    expect(waitsMs.map((waitMs) => Math.round(waitMs / 20_000))).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64])
  })

  it('counts no lowering that followed none: the first raise waits once', () => {
    const step = board(9501)
    for (let i = 0; i <= 5; i++) step(100 * i, { infeasible: true })
    const clocks = Array.from({ length: 300 }, (_, i) => step(1000 + 100 * i))
    expect(clocks.indexOf(5001)).toBe(200)
  })

  it('does nothing on a board with one memory clock', () => {
    const step = board(1215, [1215])
    for (let i = 0; i < 100; i++) expect(step(100 * i, { infeasible: true })).toBe(1215)
  })
})
