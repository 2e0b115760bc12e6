import type { ClockMechanism } from '@pctodl/thermo-dvfs'
import { describe, expect, it } from 'vitest'
import { type Judged, judge, type Kind } from './clock-stories.js'

const figures = ['above', 'unused', 'changes', 'error', 'wrong'] as const
const STORIES = 15
const SEED = 7
/** What the figures may exceed their bounds by, relative and absolute: stories whose steps fall otherwise by chance. */
const SLACK = 1.08
const SPARE: Judged = { above: 0.15, unused: 0.1, changes: 1, error: 0.02, wrong: 0.4 }

/** Mean figures that no controller may exceed: above, unused, changes, error, wrong. */
const most: Readonly<Record<Kind, readonly [number, number, number, number, number]>> = {
  stands: [0.13, 0.97, 2.98, 0.19, 9.91],
  steps: [0.08, 1.1, 24.07, 0.19, 0],
  late: [0, 5.57, 25.1, 0.17, 0],
  limited: [0.08, 2.89, 18.34, 0.27, 0],
  pauses: [0, 0.29, 0.23, 0.09, 2.78],
  loads: [1.17, 0.96, 21.43, 0.08, 0],
  setters: [0, 1.26, 3.55, 0.08, 1.12],
  readings: [8.46, 4.19, 31.5, 0.09, 0.84],
  bias: [0.53, 3.38, 25, 0.14, 0.35],
  plants: [0, 1.07, 24.1, 0.08, 0],
  infeasible: [0, 0.56, 14.1, 0.1, 0],
  ceiling: [0.04, 0.75, 9.05, 0.27, 3.85],
}

/** What becomes worse without a mechanism, and by how much at least. */
const earned: readonly (readonly [ClockMechanism, Kind, keyof Judged, number])[] = [
  ['offset', 'stands', 'unused', 10],
  ['delay', 'late', 'above', 5],
  ['energy-window', 'loads', 'above', 0.4],
  ['board-limit', 'limited', 'unused', 1],
  ['low-belief', 'stands', 'unused', 4],
  ['back-off', 'stands', 'changes', 0.4],
  ['cross-check', 'bias', 'above', 10],
  ['blind-descent', 'readings', 'above', 3],
]

describe('the clock controller on random boards', () => {
  it.each(Object.keys(most) as Kind[])('holds the cap, and wastes little of it: %s', (kind) => {
    const judged = judge(kind, STORIES, SEED)
    figures.forEach((figure, i) => {
      expect(judged[figure], figure).toBeLessThanOrEqual(SLACK * most[kind][i]! + SPARE[figure])
    })
  })

  it.each(earned)('is worse without %s: %s, %s', (mechanism, kind, figure, least) => {
    const loss = judge(kind, STORIES, SEED, [mechanism])[figure] - judge(kind, STORIES, SEED)[figure]
    expect(loss).toBeGreaterThan(least)
  })
})
