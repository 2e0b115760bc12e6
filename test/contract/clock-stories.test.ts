import { ClockController, type ClockMechanism } from '@pctodl/thermo-dvfs'
import { describe, expect, it } from 'vitest'
import { type Judged, judge, type Kind } from './clock-stories.js'

const figures = ['above', 'unused', 'changes', 'error', 'wrong'] as const
const STORIES = 15
const SEED = 7
/** What the figures may exceed their bounds by, relative and absolute: stories whose steps fall otherwise by chance. */
const SLACK = 1.08
const SPARE: Judged = { above: 0.15, unused: 0.1, changes: 1, error: 0.02, wrong: 0.4, broken: 0 }

/** Mean figures that no controller may exceed: above, unused, changes, error, wrong. */
const most: Readonly<Record<Kind, readonly [number, number, number, number, number]>> = {
  stands: [0.17, 1.07, 3.55, 0.2, 12.7],
  steps: [0, 2.6, 22, 0.19, 0],
  late: [0, 5.18, 25.4, 0.16, 0],
  limited: [0.48, 3.4, 21.3, 0.67, 0],
  pauses: [0, 1.03, 1.76, 0.08, 0],
  loads: [1.28, 1.13, 22, 0.07, 0],
  setters: [0, 1.48, 4.81, 0.1, 3.1],
  readings: [7.55, 5.45, 35, 0.1, 2.8],
  dark: [0, 6.7, 37, 0.11, 0],
  bias: [0.31, 3.22, 22.2, 0.15, 0.27],
  plants: [0.44, 2.4, 23.5, 0.07, 0],
  infeasible: [0, 0.52, 14.1, 0.13, 3.4],
  ceiling: [0.04, 0.99, 9.63, 0.24, 9.7],
}

/** What becomes worse without a mechanism, and by how much at least. */
const earned: readonly (readonly [ClockMechanism, Kind, keyof Judged, number])[] = [
  ['offset', 'stands', 'unused', 10],
  ['delay', 'late', 'wrong', 50],
  ['energy-window', 'loads', 'above', 0.4],
  ['board-limit', 'limited', 'unused', 1],
  ['low-belief', 'stands', 'unused', 4],
  ['back-off', 'stands', 'changes', 0.4],
  ['cross-check', 'bias', 'above', 10],
  ['blind-descent', 'readings', 'above', 3],
]

/** Each kind is lived through once with all mechanisms. */
const judgedOnce = new Map<Kind, Judged>()
function judged(kind: Kind): Judged {
  const known = judgedOnce.get(kind) ?? judge(kind, STORIES, SEED)
  judgedOnce.set(kind, known)
  return known
}

describe('the clock controller on random boards', () => {
  it.each(Object.keys(most) as Kind[])('holds the cap, and wastes little of it: %s', (kind) => {
    const told = judged(kind)
    figures.forEach((figure, i) => {
      expect(told[figure], figure).toBeLessThanOrEqual(SLACK * most[kind][i]! + SPARE[figure])
    })
    expect(told.broken, 'broken promises').toBe(0)
  })

  it.each(earned)('is worse without %s: %s, %s', (mechanism, kind, figure, least) => {
    const loss = judge(kind, STORIES, SEED, [mechanism])[figure] - judged(kind)[figure]
    expect(loss).toBeGreaterThan(least)
  })

  it.each([
    [400, 1500],
    [20, 300],
  ])('runs the last clock there is where the cap of %i W is beyond them all', (powerCapW, smClockMhz) => {
    const smClocksMhz = Array.from({ length: 81 }, (_, i) => 300 + 15 * i)
    const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
    const powersW = smClocksMhz.map((clock) => 40 + clock / 10)
    controller.setPlant(powersW)
    let asked = 900
    for (let timeMs = 100; timeMs < 10_000; timeMs += 100) {
      const powerAverageW = powersW[smClocksMhz.indexOf(asked)]! + (timeMs % 3) / 10
      const seen = { timeMs, powerCapW, powerAverageW, powerInstantW: null, smClockMhz: asked, loading: false }
      asked = controller.step(seen).smClockMhz
    }
    expect(asked).toBe(smClockMhz)
  })
})
