import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ClockController, type ClockControllerOptions, type ClockObservation } from '../src/index.js'
import { clocksMhz, modelAt } from './toy-board.js'

const plant = clocksMhz.map(modelAt)
const options: ClockControllerOptions = { smClocksMhz: clocksMhz, reading: 'one-second-average' }

const power = fc.option(
  fc.oneof(
    fc.double({ min: 0, max: 400, noNaN: true }),
    fc.double({ min: 140, max: 152, noNaN: true }),
    fc.constantFrom(0, Number.NaN, 1e9),
  ),
  { nil: null },
)
const observations = fc.array(
  fc.record({
    afterMs: fc.constantFrom(0, 50, 100, 100, 100, 400, 3000),
    powerCapW: fc.oneof(
      { weight: 5, arbitrary: fc.constant(150) },
      { weight: 1, arbitrary: fc.double({ min: 40, max: 300, noNaN: true }) },
    ),
    powerAverageW: power,
    powerInstantW: power,
    smClockMhz: fc.option(fc.integer({ min: 210, max: 1410 }), { nil: null, freq: 1 }),
    loading: fc.boolean(),
    newPlant: fc.integer({ min: 0, max: 30 }),
  }),
  { minLength: 1, maxLength: 120 },
)

type Event = typeof observations extends fc.Arbitrary<(infer T)[]> ? T : never

/** Feeds observations to a controller. */
function tell(story: readonly Event[], controller: ClockController): { seen: ClockObservation; clockMhz: number }[] {
  let timeMs = 1000
  return story.map(({ afterMs, newPlant, ...rest }, i) => {
    timeMs += afterMs
    if (newPlant === 0) controller.setPlant(plant.map((powerW) => powerW * (0.8 + 0.01 * (i % 40))))
    const seen = { timeMs, ...rest }
    return { seen, clockMhz: controller.step(seen).smClockMhz }
  })
}

function fresh(): ClockController {
  const controller = new ClockController(options)
  controller.setPlant(plant)
  return controller
}

/** A reading of many times the power of the model's highest clock is not usable. */
const plausible = (readW: number | null): number | null => (readW !== null && readW < 1000 ? readW : null)

describe('laws of the controller', () => {
  it('answers only supported clocks, whatever it reads', () => {
    fc.assert(
      fc.property(observations, (story) => {
        for (const { clockMhz } of tell(story, fresh())) expect(clocksMhz).toContain(clockMhz)
      }),
      { numRuns: 150 },
    )
  })

  it('never raises while a newest reading is above the cap', () => {
    fc.assert(
      fc.property(observations, (story) => {
        let previousMhz = Number.POSITIVE_INFINITY
        let averageW = 0
        let instantW = 0
        for (const { seen, clockMhz } of tell(story, fresh())) {
          averageW = plausible(seen.powerAverageW) ?? averageW
          instantW = plausible(seen.powerInstantW) ?? instantW
          if (averageW > seen.powerCapW || instantW > seen.powerCapW) expect(clockMhz).toBeLessThanOrEqual(previousMhz)
          previousMhz = clockMhz
        }
      }),
      { numRuns: 150 },
    )
  })

  it('never chooses a higher clock for a lower first cap', () => {
    const first = (powerCapW: number): number =>
      fresh().step({
        timeMs: 0,
        powerCapW,
        powerAverageW: null,
        powerInstantW: null,
        smClockMhz: null,
        loading: false,
      }).smClockMhz
    const cap = fc.double({ min: 50, max: 300, noNaN: true })
    fc.assert(
      fc.property(cap, cap, (a, b) => {
        expect(first(Math.min(a, b))).toBeLessThanOrEqual(first(Math.max(a, b)))
      }),
    )
  })
})
