import { describe, expect, it } from 'vitest'
import { ClockController } from '../src/index.js'
import { type BoardOptions, clocksMhz, measure, modelAt, run, settlingMs, ToyBoard } from './toy-board.js'

const lowestW = modelAt(210)

const plants: readonly (readonly [name: string, truth: (modelW: number) => number])[] = [
  ['exact', (modelW) => modelW],
  ['20 % above the model', (modelW) => 1.2 * modelW],
  ['20 % below the model', (modelW) => 0.8 * modelW],
  ['15 W above the model', (modelW) => modelW + 15],
  ['half as steep', (modelW) => lowestW + 0.5 * (modelW - lowestW)],
  ['one and a half times as steep', (modelW) => lowestW + 1.5 * (modelW - lowestW)],
]
const readings = ['both', 'one-second-average', 'part-time'] as const
const disturbances: BoardOptions = { dropped: 0.1, leakage: 0.05, rippleW: 1, instantNoiseW: 2, quantumW: 0.1 }

function controllerFor(reading: (typeof readings)[number]): ClockController {
  const controller = new ClockController({
    smClocksMhz: clocksMhz,
    reading: reading === 'part-time' ? 'part-time' : 'one-second-average',
  })
  controller.setPlant(clocksMhz.map(modelAt))
  return controller
}

describe.each(readings)('gates with readings: %s', (reading) => {
  it.each(plants)('holds 150, 120 and 140 W on a plant that is %s', (_name, truth) => {
    const board = new ToyBoard({ ...disturbances, truth, seed: 11 }, modelAt)
    const trace = run(controllerFor(reading), board, {
      durationMs: 420_000,
      reading,
      capAt: (timeMs) => (timeMs < 220_000 ? 150 : timeMs < 320_000 ? 120 : 140),
      loadingUntilMs: 5000,
    })
    const steady = measure(trace, 25_000, 219_000)
    expect(steady.violationPercent).toBeLessThanOrEqual(1)
    expect(steady.peakPercent).toBeLessThanOrEqual(3)
    expect(steady.longestMs).toBeLessThanOrEqual(1000)
    expect(steady.excessEnergyPercent).toBeLessThanOrEqual(0.2)
    expect(steady.utilisationPercent).toBeGreaterThan(97)
    expect(steady.utilisationPercent).toBeLessThan(99.7)
    // A lower state after a raise that proved too high, and rare retries.
    expect(steady.changes).toBeLessThan(12)

    expect(measure(trace, 5000, 25_000).peakPercent).toBeLessThan(5)
    expect(settlingMs(trace, 5000)).toBeLessThan(15_000)
    // After a step down, the average contains the earlier power for a second; then there is no more excess.
    expect(settlingMs(trace, 220_000)).toBeLessThan(15_000)
    expect(measure(trace, 221_500, 319_000).violationPercent).toBeLessThanOrEqual(1)
    // Step up.
    expect(measure(trace, 320_000, 335_000).peakPercent).toBeLessThan(5)
    expect(settlingMs(trace, 320_000)).toBeLessThan(15_000)
    expect(measure(trace, 340_000).utilisationPercent).toBeGreaterThan(97)
  })

  it('stays within the violation gate under heavy ripple', () => {
    const board = new ToyBoard({ ...disturbances, rippleW: 5, quantumW: 1, seed: 5 }, modelAt)
    const trace = run(controllerFor(reading), board, { durationMs: 400_000, reading, capAt: () => 150 })
    const steady = measure(trace, 25_000)
    expect(steady.violationPercent).toBeLessThanOrEqual(1)
    expect(steady.utilisationPercent).toBeGreaterThan(96.5)
  })
})

describe('ClockController', () => {
  it('settles and stays', () => {
    const controller = controllerFor('both')
    const board = new ToyBoard({ instantNoiseW: 0, averageNoiseW: 0 }, modelAt)
    const trace = run(controller, board, { durationMs: 120_000, capAt: () => 150 })
    expect(measure(trace, 20_000).changes).toBe(0)
    expect(trace.status.at(-1)).toBe('settled')
  })

  it('goes to the top where the cap does not bind', () => {
    const board = new ToyBoard(disturbances, modelAt)
    const trace = run(controllerFor('both'), board, { durationMs: 30_000, capAt: () => 300 })
    expect(trace.clockMhz.at(-1)).toBe(1410)
    expect(trace.status.at(-1)).toBe('settled')
  })

  it('rests at the lowest clock under a cap that cannot be kept, and says so', () => {
    const board = new ToyBoard({ ...disturbances, truth: (modelW) => 1.2 * modelW }, modelAt)
    const trace = run(controllerFor('both'), board, {
      durationMs: 90_000,
      capAt: (timeMs) => (timeMs < 30_000 ? 150 : timeMs < 60_000 ? 65 : 150),
    })
    const at = (timeMs: number): number => trace.timeMs.indexOf(timeMs)
    expect(trace.clockMhz[at(30_200)]).toBe(210)
    expect(new Set(trace.clockMhz.slice(at(30_200), at(60_000)))).toEqual(new Set([210]))
    expect(new Set(trace.status.slice(at(32_000), at(60_000)))).toEqual(new Set(['infeasible']))
    expect(measure(trace, 75_000).utilisationPercent).toBeGreaterThan(96)
  })

  it('keeps a margin for the gain error of the sensor when told to', () => {
    const controller = new ClockController({
      smClocksMhz: clocksMhz,
      reading: 'one-second-average',
      sensorTolerancePercent: 5,
    })
    controller.setPlant(clocksMhz.map(modelAt))
    const trace = run(controller, new ToyBoard(disturbances, modelAt), { durationMs: 60_000, capAt: () => 150 })
    const { utilisationPercent } = measure(trace, 20_000)
    expect(utilisationPercent).toBeGreaterThan(92)
    expect(utilisationPercent).toBeLessThan(95)
  })

  it('takes over a new partition by the ratio it has learnt', () => {
    const controller = controllerFor('both')
    const board = new ToyBoard({ ...disturbances, truth: (modelW) => 1.15 * modelW }, modelAt)
    run(controller, board, { durationMs: 40_000, capAt: () => 150 })
    controller.setPlant(clocksMhz.map((clock) => 0.85 * modelAt(clock)))
    board.loadFactor = 0.85
    const trace = run(controller, board, { durationMs: 60_000, capAt: () => 150 })
    expect(measure(trace, 40_000, 60_000).peakPercent).toBeLessThan(3)
    expect(settlingMs(trace, 40_000)).toBeLessThan(15_000)
    expect(measure(trace, 60_000).utilisationPercent).toBeGreaterThan(97)
  })
})
