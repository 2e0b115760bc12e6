import { SeededRandom } from '@pctodl/numerics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SecondBudget } from '../src/second-budget.js'

const CAP_W = 150
/** Mean of a second that is aimed at, share of the cap. */
const AIMED = 1.004
const LEAST = 0.9
/** What is asked for shows so long after, and the means are within the bound from then on, ms. */
const SHOWS_MS = 100
const SOON_MS = 250
/** Means are bounded at ends so far apart, ms: between two of them one may be higher by what changes in half of that. */
const BETWEEN_MS = 25

/** A budget that knows what readings scatter, share of the cap. */
const knowing = (noise: number) =>
  new SecondBudget({ timesMs: [], capsW: [], shares: [], noise: { variance: noise * noise } })

/** Steps of a length that each drew these shares of the cap. */
function drew(shares: readonly (number | null)[], stepMs = 100, noise = 0): SecondBudget {
  const budget = knowing(noise)
  for (const [i, share] of shares.entries()) budget.add(i * stepMs, CAP_W, share === null ? null : share * CAP_W, 0)
  return budget
}

/** So many steps of a share. */
const steps = (count: number, share: number) => Array.from({ length: count }, () => share)

/** Mean of the time that ends then, of what each millisecond drew. */
const meanOf = (drawn: readonly number[], endMs: number, ofMs = 1000) =>
  drawn.slice(endMs - ofMs, endMs).reduce((sum, share) => sum + share, 0) / ofMs

describe('what is left to draw of a second', () => {
  it('keeps every mean from soon on within what is aimed at, or is the least that is ever asked for', () => {
    const excesses = fc.record({
      stepMs: fc.integer({ min: 20, max: 200 }),
      before: fc.double({ min: 0.3, max: 1, noNaN: true }),
      shares: fc.array(fc.double({ min: 0.9, max: 1.5, noNaN: true }), { minLength: 1, maxLength: 6 }),
    })
    let bounded = 0
    fc.assert(
      fc.property(excesses, ({ stepMs, before, shares }) => {
        const all = [...steps(Math.ceil(1500 / stepMs), before), ...shares]
        const left = drew(all, stepMs).left()
        expect(left).toBeGreaterThanOrEqual(LEAST)
        if (left === LEAST) return
        bounded++
        const now = (all.at(-1)! + all.at(-2)!) / 2
        const drawn = all.slice(1).flatMap((share) => steps(stepMs, share))
        const nowMs = drawn.length
        drawn.push(...steps(SHOWS_MS, now), ...steps(1000, left))
        const between = (BETWEEN_MS / 1000) * (Math.max(...all, left) - Math.min(...all, left))
        let highest = 0
        for (let endMs = nowMs + SOON_MS; endMs <= drawn.length; endMs += 10) {
          highest = Math.max(highest, meanOf(drawn, endMs))
        }
        expect(highest).toBeLessThanOrEqual(AIMED + between)
        // And no less than it takes: one of them is at what is aimed at.
        expect(highest).toBeGreaterThanOrEqual(AIMED - 1e-9)
      }),
      { seed: 5, numRuns: 60 },
    )
    expect(bounded).toBeGreaterThan(20)
  })

  it('is what the whole of the second may draw where nothing was drawn above, and less by what was', () => {
    expect(drew(steps(20, 1)).left()).toBeCloseTo(AIMED, 9)
    // 0.1 s at 1.06, and 0.1 s at the mean of the last two until the answer shows: made up for in the 0.15 s from then until soon.
    expect(drew([...steps(15, 1), 1.06]).left()).toBeCloseTo(1 - (0.1 * 0.06 + 0.1 * 0.03 - 0.004) / 0.15, 9)
    expect(drew([...steps(15, 1), 1.5, 1.5]).left()).toBe(LEAST)
    expect(drew([1.5]).left()).toBe(Number.POSITIVE_INFINITY)
  })

  it.each([20, 50, 100, 200])(
    'makes up for a load that grows by an eighth within its second, in steps of %d ms',
    (stepMs) => {
      /** Time that means of a second are above 101 %, ms. */
      const aboveMs = (repaying: boolean) => {
        const budget = knowing(0)
        const drawn = steps(1000, 1)
        const asked = steps(1000 + SHOWS_MS, 1)
        let seen = false
        for (let timeMs = 1000; timeMs < 6000; timeMs += stepMs) {
          budget.add(timeMs, CAP_W, meanOf(drawn, timeMs, stepMs) * CAP_W, 0)
          const exceeded = budget.exceeded(null)
          seen ||= exceeded
          const share = exceeded && repaying ? Math.min(1, budget.left()) : 1
          asked.push(...steps(stepMs, seen ? share / 1.125 : 1))
          for (const now of asked.slice(timeMs, timeMs + stepMs)) drawn.push(drawn.length < 3000 ? now : 1.125 * now)
        }
        let above = 0
        for (let endMs = 2000; endMs <= drawn.length; endMs += 10) if (meanOf(drawn, endMs) > 1.01) above += 10
        return above
      }
      // No longer than it takes to be seen, and the answer to show; else for as long as the excess is in the mean.
      expect(aboveMs(true)).toBeLessThanOrEqual(2 * stepMs + SHOWS_MS)
      expect(aboveMs(false)).toBeGreaterThan(900)
    },
  )
})

describe('an excess', () => {
  it('is one reading well above the cap, two in a row that are above it, or a mean of a second', () => {
    const exceeded = (shares: readonly number[], stepMs = 100, average: number | null = null) =>
      drew([...steps(12, 0.99), ...shares], stepMs).exceeded(average)
    expect([exceeded([1.031]), exceeded([1.029])]).toEqual([true, false])
    expect([exceeded([1.021, 1.022]), exceeded([1.021, 1.019])]).toEqual([true, false])
    // Two that are nearer than a sensor renews itself may be one.
    expect([exceeded([1.021, 1.022], 80), exceeded([1.021, 1.022], 79)]).toEqual([true, false])
    const second = (share: number, average: number | null) => exceeded(steps(11, share), 100, average)
    expect([second(1.01, null), second(1.008, null)]).toEqual([true, false])
    // Nor are two of the same value, of which one was lost.
    expect(exceeded([1.021, 1.021])).toBe(false)
    // The board's own average must agree.
    expect([second(1.01, 1.004), second(1.01, 1.002)]).toEqual([true, false])
  })

  it('must stand out from what readings scatter', () => {
    const exceeded = (shares: readonly number[]) => drew([...steps(12, 0.99), ...shares], 100, 0.02).exceeded(null)
    expect([exceeded([1.101]), exceeded([1.099])]).toEqual([true, false])
    expect([exceeded([1.065, 1.066]), exceeded([1.065, 1.055])]).toEqual([true, false])
    expect([exceeded(steps(11, 1.02)), exceeded(steps(11, 1.015))]).toEqual([true, false])
  })

  it('is none of a load that goes up and down as it did, whose mean keeps the cap', () => {
    // Three times a second, in readings of 80 ms, and some above what they were by as much as readings scatter.
    const pulses = (high: number) => Array.from({ length: 36 }, (_, i) => (i % 4 < 2 ? high : 0.94))
    expect(drew(pulses(1.05), 80).exceeded(null)).toBe(false)
    expect(drew([...pulses(1.05), 1.06, 1.06], 80, 0.005).exceeded(null)).toBe(false)
    expect(drew([...pulses(1.05), 1.0601], 80, 0.005).exceeded(null)).toBe(true)
    // The first of them is one, and so are those whose mean is above.
    expect(drew([...steps(36, 0.94), 1.05], 80).exceeded(null)).toBe(true)
    expect(drew(pulses(1.09), 80).exceeded(null)).toBe(true)
  })

  it('is forgotten when the second that it was in is over', () => {
    const after = (count: number) => drew([...steps(12, 0.9), 1.2, ...steps(count, 0.9)]).exceeded(null)
    expect([after(10), after(11)]).toEqual([true, false])
  })

  it.each([0.005, 0.01, 0.02])('is not noise alone, of a standard deviation of %d of the cap', (noise) => {
    const random = new SeededRandom(3)
    const budget = new SecondBudget()
    // What they scatter is found out by how two in a row differ.
    for (let i = 0; i < 300; i++) budget.add(100 * i, CAP_W, (0.9 + noise * random.normal()) * CAP_W, 0)
    let count = 0
    for (let i = 300; i < 3300; i++) {
      budget.add(100 * i, CAP_W, (0.997 + noise * random.normal()) * CAP_W, 0)
      if (budget.exceeded(0.997)) count++
    }
    expect(count).toBeLessThanOrEqual(15)
  })

  it('is none before anything is read, nor of a mean that is not known yet', () => {
    expect(drew([null, null, null]).exceeded(null)).toBe(false)
    expect(drew(steps(10, 1.015)).exceeded(null)).toBe(false)
    expect(drew(steps(11, 1.015)).exceeded(null)).toBe(true)
  })
})

describe('a reading that is lost', () => {
  it('is taken to be as the one before it', () => {
    const lost = drew([...steps(12, 1), 1.2, null, null])
    const read = drew([...steps(12, 1), 1.2, 1.2, 1.2])
    expect(lost.left()).toBe(read.left())
    expect(lost.mean).toBe(read.mean)
    expect(lost.mean).toBeCloseTo(1.06, 9)
  })
})

describe('a step down of the cap', () => {
  /** When what is drawn counts as an excess, ms after the step, where power follows it so long after. */
  function exceededAt(stepMs: number, latenessMs: number, followsMs: number): number[] {
    const budget = knowing(0)
    const steppedMs = Math.ceil(2000 / stepMs) * stepMs
    const goneMs = steppedMs + followsMs + latenessMs
    const exceeded: number[] = []
    for (let timeMs = 0; timeMs <= 6000; timeMs += stepMs) {
      const before = Math.min(1, Math.max(0, (goneMs - (timeMs - stepMs)) / stepMs))
      const readW = 0.99 * (before * CAP_W + (1 - before) * 100)
      budget.add(timeMs, timeMs < steppedMs ? CAP_W : 100, readW, latenessMs)
      if (budget.exceeded(null)) exceeded.push(timeMs - steppedMs)
    }
    return exceeded
  }
  const lateness = [0, 250, 500, 1000, 2000]

  it.each([20, 50, 100, 150, 200])('is not exceeded by what was drawn before it, in steps of %d ms', (stepMs) => {
    for (const latenessMs of lateness) expect(exceededAt(stepMs, latenessMs, 100), `${latenessMs} ms late`).toEqual([])
  })

  it.each([20, 50, 100, 150, 200])('is exceeded by what is still drawn long after it, in steps of %d ms', (stepMs) => {
    for (const latenessMs of lateness) {
      const [first] = exceededAt(stepMs, latenessMs, 5000)
      expect(first).toBe(Math.ceil((latenessMs + 250) / stepMs) * stepMs)
    }
  })
})

it('goes on from its state as if nothing had happened', () => {
  const one = drew([...steps(12, 1), 1.2, 1.1])
  const other = new SecondBudget(JSON.parse(JSON.stringify(one.state)))
  for (const share of [1.05, 0.95, 0.9]) {
    for (const each of [one, other]) each.add(1400, CAP_W, share * CAP_W, 0)
    expect(other.left()).toBe(one.left())
    expect(other.exceeded(null)).toBe(one.exceeded(null))
  }
})
