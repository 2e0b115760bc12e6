import { expect, it } from 'vitest'
import { ClockBelief, type ClockEvidence } from '../src/clock-belief.js'
import { SensorBelief, type SensorEvidence } from '../src/sensor-belief.js'

/** Probabilities after the first, second and fifth of samples that all tell the same, each 100 ms. */
function followed(probabilities: () => readonly number[], tell: (timeMs: number) => void): string[] {
  const rows: string[] = []
  for (let sample = 1; sample <= 5; sample++) {
    tell(100 * sample)
    if (sample !== 3 && sample !== 4)
      rows.push(
        probabilities()
          .map((each) => each.toPrecision(4))
          .join(' '),
      )
  }
  return rows
}

const ofSensor: Readonly<Record<string, Partial<SensorEvidence>>> = {
  good: {},
  'a millisecond late': { lagMs: 1 },
  'half a second late': { lagMs: 500 },
  missing: { present: false, varied: false, readingW: null },
  'at rest': { varied: false },
  'at rest while it should vary': { varied: false, shouldVary: true },
  'at rest, and so is the energy counter': { varied: false, energyJ: 500 },
}

it.each(Object.entries(ofSensor))('a sensor that is %s is judged as before', (_, evidence) => {
  const belief = new SensorBelief()
  const tell = (timeMs: number) => {
    const usual = { timeMs, durationMs: 100, present: true, varied: true, shouldVary: false, lagMs: 0 }
    belief.update({ ...usual, readingW: 150, steady: true, energyJ: null, meterPowerW: null, ...evidence })
  }
  expect(followed(() => belief.state.probabilities, tell)).toMatchSnapshot()
})

it.each([0, 500])('a sensor is judged as before once a meter has begun to read more, late by %d ms', (lagMs) => {
  const belief = new SensorBelief()
  const until = (endMs: number, meterPowerW: number) => {
    for (let timeMs = endMs - 10_000; timeMs < endMs; timeMs += 100) {
      const usual = { timeMs, durationMs: 100, present: true, varied: true, shouldVary: false, lagMs }
      belief.update({ ...usual, readingW: 150, steady: true, energyJ: null, meterPowerW })
      if (belief.correction > 1) return
    }
  }
  until(10_000, 150)
  until(20_000, 170)
  expect(belief.state.probabilities.map((each) => each.toPrecision(4))).toMatchSnapshot()
})

const ofClock: Readonly<Record<string, Partial<ClockEvidence>>> = {
  'as asked for': {},
  below: { steps: -5 },
  'below and throttled': { steps: -5, throttled: true },
  above: { steps: 5 },
  'above and throttled': { steps: 5, throttled: true },
}

it.each(Object.entries(ofClock))('a clock that is %s is judged as before', (_, evidence) => {
  const belief = new ClockBelief()
  const usual = { durationMs: 100, steps: 0, throttled: false, refused: false, held: false, excused: false }
  const tell = () => belief.update({ ...usual, ...evidence })
  expect(followed(() => belief.state, tell)).toMatchSnapshot()
})
