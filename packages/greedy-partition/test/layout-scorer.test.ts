import { loadPerfModel } from '@pctodl/perf-model'
import { describe, expect, it } from 'vitest'
import { LayoutScorer } from '../src/services/layout-scorer.js'
import { planProblem } from '../src/services/plan-problem.js'

const service = {
  name: 'a',
  model: 'resnet50',
  objective: { p99Ms: 40 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 0,
}

describe('a layout that misses an objective', () => {
  const scorer = new LayoutScorer(
    planProblem(loadPerfModel('A100'), [service], [1e5], { powerCapW: 250, objective: 'min-power' }),
  )
  const shortfallOf = (units: number) =>
    scorer.score({ services: [{ count: 1, units, batch: 4 }], memIndex: 0 })!.shortfall

  it('is the nearer to a plan the more of the requests it answers', () => {
    const shortfalls = [2, 5, 10, 20].map(shortfallOf)
    expect(shortfalls).toEqual(shortfalls.toSorted((a, b) => b - a))
    expect(new Set(shortfalls).size).toBe(4)
  })

  it('is the nearer the less its latency is beyond the objective', () => {
    const hurried = { ...service, objective: { p99Ms: 5 } }
    const options = { powerCapW: 250, objective: 'min-power', latencyMargin: 0 } as const
    const { problem } = new LayoutScorer(planProblem(loadPerfModel('A100'), [hurried], [1], options))
    const layout = { services: [{ count: 1, units: 6, batch: 4 }], memIndex: 0 }
    const alone = new LayoutScorer(problem)
    const board = alone.board(layout)
    const { p99Ms } = board.predictAt(board.clocks - 1, problem.ratesPerS).services[0]!
    expect(p99Ms).toBeGreaterThan(5)
    expect(alone.score(layout)!.shortfall).toBeCloseTo(1e-3 + Math.log(p99Ms / 5), 6)
  })
})
