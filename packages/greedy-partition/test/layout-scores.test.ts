import { loadPerfModel } from '@pctodl/perf-model'
import type { Service } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import type { Layout } from '../src/services/layout.js'
import { bestFirst, isBetter, LayoutScorer, type Scored } from '../src/services/layout-scorer.js'
import { planProblem } from '../src/services/plan-problem.js'
import type { ServiceGoal, ServicePlanOptions } from '../src/services.js'

const model = loadPerfModel('A100')
const rest = { maxBatchSize: 16, maxQueueDelayMs: 0 }
const services: readonly Service[] = [
  { name: 'search', model: 'resnet50', objective: { p99Ms: 40 }, weight: 1, ...rest },
  { name: 'photos', model: 'mobilenet_v2', objective: { p99Ms: 25 }, weight: 2, ...rest },
]
const layouts: readonly Layout[] = [
  [1, 10, 3, 1, 10, 2],
  [2, 5, 2, 1, 8, 3],
  [1, 14, 4, 1, 6, 3],
  [2, 4, 3, 2, 6, 2],
].map(([count, units, batch, other, otherUnits, otherBatch]) => ({
  services: [
    { count: count!, units: units!, batch: batch! },
    { count: other!, units: otherUnits!, batch: otherBatch! },
  ],
  memIndex: 0,
}))

function scorerFor(objective: ServiceGoal, options: Partial<ServicePlanOptions> = {}, ratesPerS = [300, 500]) {
  const smClocksMhz = [300, 450, 600, 750, 900, 1050, 1200, 1350, 1410]
  const given = { objective, powerCapW: 150, batchSizes: [1, 2, 4, 8, 16], smClocksMhz, ...options }
  return new LayoutScorer(planProblem(model, services, ratesPerS, given))
}

/** Whether all objectives hold at a clock for multiples of the requested rates, and the power in W. */
function keptAt(scorer: LayoutScorer, layout: Layout, clockIndex: number, factor: number) {
  const { met, powerW } = scorer.holds(
    scorer.board(layout),
    clockIndex,
    scorer.problem.ratesPerS.map((rate) => factor * rate),
  )
  return { met, powerW, kept: met && powerW <= scorer.problem.powerLimitW }
}

describe('the score of a layout', () => {
  it('for least power is that of the lowest clock at which all objectives hold', () => {
    for (const layout of layouts) {
      const scorer = scorerFor('min-power')
      const { clockIndex, cost, powerW, shortfall, ratesPerS } = scorer.score(layout)!
      const met = Array.from({ length: scorer.board(layout).clocks }, (_, i) => keptAt(scorer, layout, i, 1).met)
      expect(shortfall).toBe(0)
      expect(clockIndex).toBe(met.indexOf(true))
      expect(cost).toBeCloseTo(keptAt(scorer, layout, clockIndex, 1).powerW, 4)
      expect([powerW, ratesPerS]).toEqual([cost, scorer.problem.ratesPerS])
    }
  })

  it('for most load is the largest common factor that objectives and cap allow at any clock', () => {
    for (const layout of layouts) {
      const scorer = scorerFor('max-load', { powerCapW: 100 })
      const { clockIndex, cost, powerW, ratesPerS } = scorer.score(layout)!
      const clocks = Array.from({ length: scorer.board(layout).clocks }, (_, i) => i)
      expect(keptAt(scorer, layout, clockIndex, -cost).kept).toBe(true)
      expect(powerW).toBeLessThanOrEqual(100)
      expect(clocks.some((i) => keptAt(scorer, layout, i, -cost * 1.01).kept)).toBe(false)
      expect(ratesPerS).toEqual(scorer.problem.ratesPerS.map((rate) => -cost * rate))
    }
  })

  it('for most value is within a hundredth of the most at any clock', () => {
    for (const layout of layouts) {
      const scorer = scorerFor('max-value', { powerCapW: 90 }, [2000, 3000])
      const { cost, powerW, ratesPerS } = scorer.score(layout)!
      expect(powerW).toBeLessThanOrEqual(90)
      expect(-cost).toBeCloseTo(ratesPerS[0]! + 2 * ratesPerS[1]!, 6)
      for (const smClockMhz of [300, 600, 750, 900, 1050, 1200, 1410]) {
        const there = scorerFor('max-value', { powerCapW: 90, smClocksMhz: [smClockMhz] }, [2000, 3000]).score(layout)!
        if (there.shortfall === 0) expect(-there.cost).toBeLessThanOrEqual(-cost * 1.01)
      }
    }
  })

  it.each<ServiceGoal>(['min-power', 'max-load'])(
    'for %s does not hang on what was scored before, but for how finely it is looked for',
    (goal) => {
      const [forward, backward] = [scorerFor(goal), scorerFor(goal)]
      const scores = layouts.map((layout) => forward.score(layout)!.cost)
      const others = layouts.toReversed().map((layout) => backward.score(layout)!.cost)
      others.reverse().forEach((cost, i) => {
        expect(cost / scores[i]!).toBeCloseTo(1, goal === 'max-load' ? 2 : 5)
      })
    },
  )

  it('is worked out once, and not at all where the board has no room', () => {
    const scorer = scorerFor('min-power')
    const [layout] = layouts
    const first = scorer.score(layout!)
    expect(scorer.score(structuredClone(layout!))).toBe(first)
    const [one, two] = layout!.services
    const tooMuch = { ...layout!, services: [{ ...one!, units: 11 }, two!] }
    expect(scorer.score(tooMuch)).toBeUndefined()
    expect(scorer.improved(first!, tooMuch)).toBeUndefined()
    expect(scorer.evaluations).toBe(1)
  })

  it.each<ServiceGoal>(['min-power', 'max-load'])(
    'for %s is told where it is better than another, and only there',
    (goal) => {
      for (const than of layouts) {
        for (const layout of layouts) {
          const full = scorerFor(goal)
          const [score, other] = [full.score(layout)!, full.score(than)!]
          const scorer = scorerFor(goal)
          const above = scorer.improved(scorer.score(than)!, layout)
          // The precision of a factor is about 0.05 %. Closer comparisons may go either way.
          if (Math.abs(score.cost / other.cost - 1) < 5e-3) continue
          expect(above !== undefined).toBe(isBetter(score, other))
          if (above) expect(above.cost / score.cost).toBeCloseTo(1, 2)
        }
      }
    },
  )

  it('is found better than one at a clock that its memory state does not have', () => {
    const ti = loadPerfModel('3080Ti')
    const problem = planProblem(ti, services, [400, 300], { objective: 'min-power', powerCapW: 350 })
    const [high, low] = problem.smClocksMhz
    const narrow = { ...problem, smClocksMhz: [high!, low!.slice(0, 30)] }
    const layout = { ...layouts[0]!, memIndex: 1 }
    const score = new LayoutScorer(narrow).score(layout)!
    const than = { ...score, clockIndex: 40, cost: 2 * score.cost }
    expect(new LayoutScorer(narrow).improved(than, layout)).toEqual(score)
  })

  it('counts a look that is cut short once, and remembers what it was not better than', () => {
    const scorer = scorerFor('min-power')
    const scored = layouts.map((layout) => scorerFor('min-power').score(layout)!).sort(bestFirst)
    const best = scorer.score(scored[0]!.layout)!
    const worst = scored.at(-1)!.layout
    expect(scorer.improved(best, worst)).toBeUndefined()
    const { evaluations } = scorer
    expect(scorer.improved(best, worst)).toBeUndefined()
    expect(scorer.evaluations).toBe(evaluations)
    // Held against nothing, it has its score all the same.
    expect(scorer.score(worst)!.cost).toBeCloseTo(scored.at(-1)!.cost, 4)
  })
})

describe('what a search may spend', () => {
  it('is its evaluations, and the time since it began', () => {
    const counted = scorerFor('min-power', { budgetEvaluations: 2 })
    expect(counted.spent()).toBeUndefined()
    counted.score(layouts[0]!)
    expect(counted.spent()).toBeUndefined()
    counted.score(layouts[1]!)
    expect(counted.spent()).toBe('evaluation-budget')
    let ms = 1000
    const timed = scorerFor('min-power', { timeBudgetMs: 5, now: () => ms })
    ms = 1004.9
    expect(timed.spent()).toBeUndefined()
    ms = 1005
    expect(timed.spent()).toBe('time-budget')
  })
})

describe('the better of two', () => {
  const scored = (shortfall: number, cost: number, units = 10): Scored => ({
    layout: { services: [{ count: 1, units, batch: 0 }], memIndex: 0 },
    clockIndex: 0,
    shortfall,
    cost,
    powerW: 100,
    ratesPerS: [1],
  })

  it('is the one that falls short by less, then the one of less cost, then the first in order', () => {
    const list = [scored(0, -5), scored(0, 3, 10), scored(0, 3, 11), scored(0.2, 1), scored(0.3, -9)]
    expect(list.toReversed().sort(bestFirst)).toEqual(list)
    for (const [i, a] of list.entries()) {
      for (const [j, b] of list.entries()) {
        expect(isBetter(a, b)).toBe(i < j && !(i === 1 && j === 2))
      }
    }
  })

  it('is none where they differ by rounding', () => {
    for (const cost of [100, -100]) {
      expect(isBetter(scored(0, cost - 5e-5), scored(0, cost))).toBe(false)
      expect(isBetter(scored(0, cost - 5e-4), scored(0, cost))).toBe(true)
    }
    expect(isBetter(scored(2 - 1e-6, 0), scored(2, 0))).toBe(false)
    expect(isBetter(scored(2 - 1e-5, 0), scored(2, 0))).toBe(true)
  })
})
