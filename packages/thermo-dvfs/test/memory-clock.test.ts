import { describe, expect, it } from 'vitest'
import { MemoryClockControl, type MemoryClockObservation } from '../src/index.js'

const memClocksMhz = [9501, 5001, 810]
const seen = (timeMs: number, overrides: Partial<MemoryClockObservation> = {}): MemoryClockObservation => ({
  timeMs,
  powerCapW: 100,
  infeasible: false,
  lowestPowerW: (memClockMhz) => 60 + memClockMhz / 200,
  ...overrides,
})

describe('MemoryClockControl', () => {
  it('leaves the planned clock alone while the SM clock keeps the cap', () => {
    const control = new MemoryClockControl({ memClocksMhz }, 9501)
    for (let timeMs = 0; timeMs < 60_000; timeMs += 100) expect(control.step(seen(timeMs))).toBe(9501)
  })

  it('goes down state by state while the cap cannot be kept, and stays at the bottom', () => {
    const control = new MemoryClockControl({ memClocksMhz }, 9501)
    const clocks = Array.from({ length: 60 }, (_, i) => control.step(seen(100 * i, { infeasible: true })))
    expect(clocks.indexOf(5001)).toBe(15)
    expect(clocks.indexOf(810)).toBe(31)
    expect(clocks.at(-1)).toBe(810)
  })

  it('goes down after two tenths of a second where readings say so, and no later than an estimate alone takes', () => {
    const clocksOf = (lowerAfterMs: number | undefined, sureFromMs: number) => {
      const control = new MemoryClockControl(
        { memClocksMhz, ...(lowerAfterMs === undefined ? {} : { lowerAfterMs }) },
        9501,
      )
      const clocks = Array.from({ length: 40 }, (_, i) =>
        control.step(seen(100 * i, { infeasible: true, sure: 100 * i >= sureFromMs })),
      )
      return [clocks.indexOf(5001), clocks.indexOf(810)]
    }
    expect(clocksOf(undefined, 0)).toEqual([2, 5])
    // What was estimated for as long needs no more waiting.
    expect(clocksOf(undefined, 1000)).toEqual([10, 13])
    expect(clocksOf(100, 0)).toEqual([1, 3])
  })

  it('does not go down for readings of a moment', () => {
    const control = new MemoryClockControl({ memClocksMhz }, 9501)
    for (let i = 0; i < 60; i++) {
      const infeasible = i % 3 < 2
      expect(control.step(seen(100 * i, { infeasible, sure: infeasible }))).toBe(9501)
    }
  })

  it('comes back once there has been room for long enough, never above the plan', () => {
    const control = new MemoryClockControl({ memClocksMhz }, 5001)
    for (let i = 0; i <= 15; i++) control.step(seen(100 * i, { infeasible: true }))
    expect(control.memClockMhz).toBe(810)
    const clocks = Array.from({ length: 600 }, (_, i) => control.step(seen(2000 + 100 * i)))
    expect(clocks.indexOf(5001)).toBe(200)
    expect(Math.max(...clocks)).toBe(5001)
    // 60 + 25 W do not fit below 95 % of 85 W.
    const narrow = new MemoryClockControl({ memClocksMhz }, 5001, {
      memClockMhz: 810,
      homeMhz: 5001,
      infeasibleSinceMs: null,
      roomSinceMs: null,
      failedRaises: 0,
      raised: false,
    })
    for (let i = 0; i < 600; i++) expect(narrow.step(seen(100 * i, { powerCapW: 85 }))).toBe(810)
  })

  it('waits twice as long after each raise that had to be taken back', () => {
    const control = new MemoryClockControl({ memClocksMhz }, 9501)
    let memClockMhz = 9501
    const raisesMs: number[] = []
    for (let timeMs = 0; timeMs < 200_000; timeMs += 100) {
      // The prediction sees room that is not there.
      const next = control.step(seen(timeMs, { infeasible: memClockMhz === 9501, lowestPowerW: () => 80 }))
      if (next > memClockMhz) raisesMs.push(timeMs)
      memClockMhz = next
    }
    const waitsMs = raisesMs.map((raisedMs, i) => raisedMs - (raisesMs[i - 1] ?? 0))
    expect(waitsMs.map((waitMs) => Math.round(waitMs / 10_000))).toEqual([2, 4, 8])
    control.setHome(9501)
    expect(control.serialise().failedRaises).toBe(0)
  })

  it('waits no longer than 64 times as long, however often it failed', () => {
    const control = new MemoryClockControl({ memClocksMhz, raiseAfterMs: 100, lowerAfterMs: 0 }, 9501)
    const raisesMs: number[] = []
    let before = 9501
    for (let timeMs = 0; raisesMs.length < 9; timeMs += 50) {
      const next = control.step(seen(timeMs, { infeasible: before === 9501, lowestPowerW: () => 80 }))
      if (next > before) raisesMs.push(timeMs)
      before = next
    }
    const waitsMs = raisesMs.slice(1).map((raisedMs, i) => raisedMs - raisesMs[i]!)
    // It is lowered again, and there is room, in the next two steps.
    expect(waitsMs.map((waitMs) => waitMs - 100)).toEqual([200, 400, 800, 1600, 3200, 6400, 6400, 6400])
  })

  it('comes back where the lowest SM clock draws as much as it may, and counts no lowering that followed none', () => {
    const raised = (powerCapW: number) => {
      const control = new MemoryClockControl({ memClocksMhz, raiseAfterMs: 1000, lowerAfterMs: 0 }, 9501)
      expect(control.step(seen(0, { infeasible: true }))).toBe(5001)
      for (let timeMs = 100; timeMs <= 1100; timeMs += 100) {
        control.step(seen(timeMs, { powerCapW, lowestPowerW: () => 95 }))
      }
      return control.memClockMhz
    }
    expect([raised(100), raised(99.9)]).toEqual([9501, 5001])
    const twice = new MemoryClockControl({ memClocksMhz, lowerAfterMs: 0 }, 9501)
    for (const timeMs of [0, 100]) twice.step(seen(timeMs, { infeasible: true }))
    expect(twice.serialise()).toMatchObject({ memClockMhz: 810, failedRaises: 0 })
  })

  it('does nothing on a board with one memory clock', () => {
    const control = new MemoryClockControl({ memClocksMhz: [1215] }, 1215)
    for (let i = 0; i < 100; i++) expect(control.step(seen(100 * i, { infeasible: true }))).toBe(1215)
  })

  it('goes on from its state as if nothing had happened', () => {
    const one = new MemoryClockControl({ memClocksMhz }, 9501)
    for (let i = 0; i < 10; i++) one.step(seen(100 * i, { infeasible: true }))
    const other = new MemoryClockControl({ memClocksMhz }, 9501, JSON.parse(JSON.stringify(one.serialise())))
    for (let i = 10; i < 40; i++) {
      expect(other.step(seen(100 * i, { infeasible: true }))).toBe(one.step(seen(100 * i, { infeasible: true })))
    }
  })

  it('refuses a clock that is none of its own', () => {
    expect(() => new MemoryClockControl({ memClocksMhz }, 7000)).toThrow('memClockMhz: got 7000')
    expect(() => new MemoryClockControl({ memClocksMhz }, 9501).setHome(7000)).toThrow('memClockMhz: got 7000')
  })
})
