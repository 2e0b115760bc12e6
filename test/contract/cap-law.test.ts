import { findGpuSpec, smClocksAt, type Telemetry } from '@pctodl/platform'
import { CapLaw } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'

const spec = findGpuSpec('A100')
const memClockMhz = 1215
const clocks = smClocksAt(spec, memClockMhz)!
const top = clocks.at(-1)!
/** Below the lowest limit of the board: the clock alone holds the cap. */
const CAP_W = spec.powerLimitW.min - 20
const predictW = (smClockMhz: number) => 40 + 0.1 * smClockMhz
const keeps = (capW: number) => clocks.findLast((clock) => predictW(clock) <= 0.99 * capW)!

/** A law on a board that draws so much more than its prediction, at one clock. */
class Board {
  readonly law = new CapLaw(spec)
  timeMs = 0
  energyJ: number = 0

  for(samples: number, beyondW: number, { smClockMhz = 600, loading = false } = {}): this {
    for (let i = 0; i < samples; i++) {
      this.timeMs += 100
      this.energyJ += 0.1 * (predictW(smClockMhz) + beyondW)
      const telemetry = { energyJ: this.energyJ, powerInstantW: null, powerAverageW: null } as Telemetry
      this.law.read(this.timeMs, telemetry, loading ? null : predictW(smClockMhz))
    }
    return this
  }

  ceilingMhz(capW = CAP_W, wantedMhz = top): number {
    return this.law.ceilingMhz(memClockMhz, capW, wantedMhz, predictW)
  }
}

describe('the ceiling of the clock', () => {
  it('is where predicted power and the measured offset keep the cap', () => {
    expect(new Board().ceilingMhz()).toBe(keeps(CAP_W))
    const board = new Board().for(15, 12)
    expect(board.law.offsetW).toBeCloseTo(12, 6)
    expect(board.law.secondW).toBeCloseTo(predictW(600) + 12, 6)
    expect(board.ceilingMhz()).toBe(keeps((0.99 * CAP_W - 12) / 0.99))
  })

  it('is not looked for above what is wanted', () => {
    expect(new Board().ceilingMhz(CAP_W, clocks[0])).toBe(top)
  })

  it('falls at once, and rises when a second has allowed it, or the load is another', () => {
    const board = new Board().for(15, 0)
    const low = keeps(CAP_W - 20)
    expect(board.ceilingMhz(CAP_W - 20)).toBe(low)
    for (let sample = 1; sample < 10; sample++) expect(board.ceilingMhz()).toBe(low)
    expect(board.ceilingMhz()).toBe(keeps(CAP_W))
    board.ceilingMhz(CAP_W - 20)
    board.law.forget()
    expect(board.ceilingMhz()).toBe(keeps(CAP_W))
  })

  it('repays a second above the cap', () => {
    const board = new Board().for(15, 30, { smClockMhz: clocks.findLast((clock) => predictW(clock) <= CAP_W)! })
    const debtW = board.law.secondW! - CAP_W
    expect(debtW).toBeGreaterThan(20)
    expect(board.ceilingMhz()).toBe(keeps((0.99 * CAP_W - 30 - debtW) / 0.99))
  })

  it('is a state higher where the board trims by its own limit', () => {
    const capW = spec.powerLimitW.min + 10
    expect(new Board().ceilingMhz(capW)).toBe(clocks[clocks.indexOf(keeps(capW)) + 1])
  })

  it('begins anew where the energy counter does, as after a reset of the driver', () => {
    const board = new Board().for(15, 12)
    board.energyJ = 0
    expect(board.for(15, 12).law.offsetW).toBeCloseTo(12, 6)
    expect(board.law.secondW).toBeCloseTo(predictW(600) + 12, 6)
    board.energyJ = 0
    for (let sample = 0; sample < 12; sample++) expect(board.for(1, 12).law.secondW).toBeGreaterThan(0)
  })

  it('learns nothing of what is drawn while tenants load', () => {
    const board = new Board().for(15, 12).for(15, -30, { loading: true })
    expect(board.law.offsetW).toBeCloseTo(12, 6)
    board.for(9, 8)
    expect(board.law.offsetW).toBeCloseTo(12, 6)
    expect(board.for(5, 8).law.offsetW).toBeCloseTo(8, 6)
  })
})
