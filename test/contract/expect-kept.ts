import { expect } from 'vitest'
import { expectNoWorse } from './expect-no-worse.js'
import {
  between,
  changesPerMinute,
  fixed,
  judgeCap,
  type PolicyOf,
  type Story,
  settledAfterS,
  type Told,
  used,
} from './harness.js'

/** What a story must come to. Bounds on both sides of the cap: a controller that does nothing keeps no cap, or wastes it. */
export interface Expected {
  /** Share of the time with a second's mean more than 1 % above. Default .01. */
  readonly above?: number
  /** Default 1000. */
  readonly longestAboveMs?: number
  /** Parts that must be used: from, to, least mean power over the cap. */
  readonly used?: readonly (readonly [fromS: number, toS: number, least: number])[]
  /** Within so many seconds after a time, a second's mean stays near the cap. */
  readonly settled?: readonly (readonly [atS: number, withinS: number])[]
  /** What is asked for a minute, from a time on. */
  readonly changes?: readonly [fromS: number, most: number]
}

export function expectKept(told: Told, { above = 0.01, longestAboveMs = 1000, ...expected }: Expected): void {
  const judged = judgeCap(told)
  expect(judged.aboveShare, 'share of the time above the cap').toBeLessThanOrEqual(above)
  expect(judged.longestAboveMs, 'longest stay above the cap, ms').toBeLessThanOrEqual(longestAboveMs)
  for (const [fromS, toS, least] of expected.used ?? []) {
    expect(used(between(told, fromS, toS)), `used of the cap from ${fromS} to ${toS} s`).toBeGreaterThanOrEqual(least)
  }
  for (const [atS, withinS] of expected.settled ?? []) {
    expect(settledAfterS(told, atS), `s from ${atS} s until near the cap`).toBeLessThanOrEqual(withinS)
  }
  if (expected.changes) {
    const [fromS, most] = expected.changes
    expect(changesPerMinute(told, fromS), 'changes a minute').toBeLessThanOrEqual(most)
  }
  expectNoWorse(told)
}

export type Row = readonly [name: string, story: Partial<Story>, expected: Expected, policy?: PolicyOf]

export const storyOf = (name: string, told: Partial<Story>): Story => ({
  name,
  board: '3080Ti',
  caps: fixed(200),
  seconds: 40,
  ...told,
})
