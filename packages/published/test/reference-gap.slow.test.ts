import { exhaustive, type FeasiblePartition, partition } from '@pctodl/greedy-partition'
import { describe, expect, it } from 'vitest'
import { publishedOptima, publishedRuns } from './published-cases.js'
import { PublishedBoard, publishedSpaceOf } from './reference-board.js'

describe('the search over the published predictor', () => {
  it('enumerates to the published optimum', () => {
    const optimum = publishedOptima().find((candidate) => candidate.sharePercentStep === 20)!
    const run = publishedRuns().find((candidate) => candidate.caseId === optimum.caseId)!
    const best = exhaustive(new PublishedBoard(run), { ...publishedSpaceOf(run), sharePercentStep: 20 })
    expect((best as FeasiblePartition).weightedThroughput).toBeCloseTo(optimum.throughput, 3)
  })

  it('comes close to the published optima, never above a cap', () => {
    const gaps: Record<'fine' | 'coarse', number[]> = { fine: [], coarse: [] }
    const runs = publishedRuns().filter((run) => run.variant === 'standard')
    for (const { caseId, sharePercentStep, throughput } of publishedOptima()) {
      const run = runs.find((candidate) => candidate.caseId === caseId)!
      const ours = partition(new PublishedBoard(run), { ...publishedSpaceOf(run), sharePercentStep })
      if (!ours.feasible) throw new Error(`${caseId}: ${ours.message}`)
      expect(ours.prediction.powerW, caseId).toBeLessThanOrEqual(run.powerCapW)
      const gapPercent = 100 * (1 - ours.weightedThroughput / throughput)
      expect(gapPercent, `${caseId} is above what an enumeration found`).toBeGreaterThan(-0.01)
      gaps[sharePercentStep === 5 ? 'fine' : 'coarse'].push(gapPercent)
    }
    expect(gaps.fine.length).toBeGreaterThan(5)
    expect(Math.max(...gaps.fine)).toBeLessThan(2)
    expect(median(gaps.fine)).toBeLessThan(0.5)
    expect(Math.max(...gaps.coarse)).toBeLessThan(0.5)
    expect(median(gaps.coarse)).toBeLessThan(1e-4)
  })
})

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
