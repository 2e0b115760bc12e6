import { MemoryClockControl } from '@pctodl/thermo-dvfs'
import { describe, expect, it } from 'vitest'

type MemoryClockObservation = Parameters<MemoryClockControl['step']>[0]

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
    const control = new MemoryClockControl(memClocksMhz, 9501)
    for (let timeMs = 0; timeMs < 60_000; timeMs += 100) expect(control.step(seen(timeMs))).toBe(9501)
  })

  it('goes down state by state while the cap cannot be kept, and stays at the bottom', () => {
    const control = new MemoryClockControl(memClocksMhz, 9501)
    const clocks = Array.from({ length: 60 }, (_, i) => control.step(seen(100 * i, { infeasible: true })))
    expect(clocks.indexOf(5001)).toBe(2)
    expect(clocks.indexOf(810)).toBe(5)
    expect(clocks.at(-1)).toBe(810)
  })

  it('does not go down for readings of a moment', () => {
    const control = new MemoryClockControl(memClocksMhz, 9501)
    for (let i = 0; i < 60; i++) expect(control.step(seen(100 * i, { infeasible: i % 3 < 2 }))).toBe(9501)
  })

  it('comes back once there has been room for long enough, never above the plan', () => {
    const control = new MemoryClockControl(memClocksMhz, 5001)
    for (let i = 0; i <= 2; i++) control.step(seen(100 * i, { infeasible: true }))
    expect(control.memClockMhz).toBe(810)
    const clocks = Array.from({ length: 600 }, (_, i) => control.step(seen(2000 + 100 * i)))
    expect(clocks.indexOf(5001)).toBe(200)
    expect(Math.max(...clocks)).toBe(5001)
  })

  it('comes back where the lowest SM clock draws at most 95 % of the cap', () => {
    const raised = (powerCapW: number) => {
      const control = new MemoryClockControl(memClocksMhz, 9501)
      for (let i = 0; i <= 2; i++) control.step(seen(100 * i, { infeasible: true }))
      for (let i = 3; i <= 210; i++) control.step(seen(100 * i, { powerCapW, lowestPowerW: () => 95 }))
      return control.memClockMhz
    }
    expect([raised(100), raised(99.9)]).toEqual([9501, 5001])
  })

  it('waits twice as long after each raise that had to be taken back, up to 64 times, until a new plan', () => {
    const control = new MemoryClockControl(memClocksMhz, 9501)
    let memClockMhz = 9501
    const raisesMs: number[] = []
    for (let timeMs = 0; raisesMs.length < 9; timeMs += 200) {
      // The prediction shows headroom that does not exist.
      const next = control.step(seen(timeMs, { infeasible: memClockMhz === 9501, lowestPowerW: () => 80 }))
      if (next > memClockMhz) raisesMs.push(timeMs)
      memClockMhz = next
    }
    const waitsMs = raisesMs.map((raisedMs, i) => raisedMs - (raisesMs[i - 1] ?? 0))
    expect(waitsMs.map((waitMs) => Math.round(waitMs / 20_000))).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64])
    control.setHome(9501)
    expect(control.serialise().failedRaises).toBe(0)
  })

  it('counts no lowering that followed none', () => {
    const control = new MemoryClockControl(memClocksMhz, 9501)
    for (let i = 0; i <= 5; i++) control.step(seen(100 * i, { infeasible: true }))
    expect(control.serialise()).toMatchObject({ memClockMhz: 810, failedRaises: 0 })
  })

  it('does nothing on a board with one memory clock', () => {
    const control = new MemoryClockControl([1215], 1215)
    for (let i = 0; i < 100; i++) expect(control.step(seen(100 * i, { infeasible: true }))).toBe(1215)
  })

  it('goes on from its state as if nothing had happened', () => {
    const one = new MemoryClockControl(memClocksMhz, 9501)
    one.step(seen(0, { infeasible: true }))
    const other = new MemoryClockControl(memClocksMhz, 9501, JSON.parse(JSON.stringify(one.serialise())))
    for (let i = 1; i < 40; i++) {
      expect(other.step(seen(100 * i, { infeasible: true }))).toBe(one.step(seen(100 * i, { infeasible: true })))
    }
  })

  it('refuses a clock that is none of its own', () => {
    expect(() => new MemoryClockControl(memClocksMhz, 7000)).toThrow('memClockMhz: got 7000')
    expect(() => new MemoryClockControl(memClocksMhz, 9501).setHome(7000)).toThrow('memClockMhz: got 7000')
  })
})
