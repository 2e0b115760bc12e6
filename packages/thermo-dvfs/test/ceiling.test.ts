import { describe, expect, it } from 'vitest'
import { ClockController, type ClockObservation } from '../src/index.js'

const smClocksMhz = Array.from({ length: 41 }, (_, i) => 600 + 30 * i)
const powerAt = (clockMhz: number) => 60 + clockMhz / 10
const plant = smClocksMhz.map(powerAt)
const seen = (timeMs: number, clockMhz: number, ceilingMhz?: number, powerCapW = 180): ClockObservation => ({
  timeMs,
  powerCapW,
  powerAverageW: powerAt(clockMhz),
  powerInstantW: powerAt(clockMhz),
  smClockMhz: clockMhz,
  loading: false,
  activeShare: 1,
  ...(ceilingMhz === undefined ? {} : { ceilingMhz }),
})

function controller(): ClockController {
  const one = new ClockController({ smClocksMhz, reading: 'one-second-average' })
  one.setPlant(plant)
  return one
}

/**
 * Runs steps of 100 ms from a time on. The board runs the clock requested last.
 * @returns the requested clocks
 */
function run(one: ClockController, fromMs: number, steps: number, firstMhz: number, ceilingMhz?: number): number[] {
  const clocks = [firstMhz]
  for (let i = 0; i < steps; i++) {
    clocks.push(one.step(seen(fromMs + 100 * i, clocks.at(-1)!, ceilingMhz)).smClockMhz)
  }
  return clocks.slice(1)
}

describe('a clock above which there is no work', () => {
  it('is not exceeded, is left at once when there is more, and is gone to at once when there is less', () => {
    const one = controller()
    const low = run(one, 0, 50, 900, 900)
    expect(Math.max(...low)).toBe(900)
    expect(low.at(-1)).toBe(900)
    const [more] = run(one, 5000, 1, 900, 1080)
    expect(more).toBe(1080)
    expect(run(one, 5100, 1, 1080, 750)).toEqual([750])
    // A ceiling between two states allows the lower one.
    expect(run(one, 5200, 1, 750, 739)).toEqual([720])
  })

  it('does not loosen the cap, whatever it is', () => {
    const one = controller()
    const free = run(controller(), 0, 60, 900).at(-1)!
    expect(powerAt(free)).toBeLessThanOrEqual(180)
    expect(Math.max(...run(one, 0, 60, 900, 5000))).toBeLessThanOrEqual(free + 30)
    // Below all states: the lowest.
    expect(run(one, 6000, 1, free, 1)).toEqual([600])
  })
})
