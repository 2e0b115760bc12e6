import { loadPerfModel } from '@pctodl/perf-model'
import type { Service } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { fits } from '../src/services/layout.js'
import { equalShares, sharesByLoad, startLayouts } from '../src/services/layout-starts.js'
import type { ServicePlanOptions } from '../src/services/plan-options.js'
import { planProblem } from '../src/services/plan-problem.js'

const model = loadPerfModel('A100')
const service: Service = {
  name: 'a',
  model: 'resnet50',
  objective: { p99Ms: 40 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 0,
}
/** Services of one network with these rates; the first takes batches of at most 4. */
const problemOf = (ratesPerS: readonly number[], more: Partial<ServicePlanOptions> = {}) =>
  planProblem(
    model,
    ratesPerS.map((_, i) => ({ ...service, name: `s${i}`, ...(i === 0 ? { maxBatchSize: 4 } : {}) })),
    ratesPerS,
    { powerCapW: 200, objective: 'min-power', sharePercentStep: 5, batchSizes: [1, 4, 16], maxInstances: 3, ...more },
  )

describe('where the climb begins', () => {
  it('gives equal shares, and leaves what does not divide', () => {
    expect(equalShares(problemOf([1, 1]))).toEqual([10, 10])
    expect(equalShares(problemOf([1, 1, 1]))).toEqual([6, 6, 6])
  })

  it('gives shares in proportion to the load, whatever the load of all', () => {
    expect(sharesByLoad(problemOf([31, 10.5]), 0, 0)).toEqual([14, 5])
    expect(sharesByLoad(problemOf([3100, 1050]), 0, 0)).toEqual([14, 5])
    expect(sharesByLoad(problemOf([10, 20, 31]), 0, 1)).toEqual([3, 6, 10])
  })

  it('counts a network by what the board does of it, with the batch that each service takes', () => {
    const problem = problemOf([10, 10])
    const perS = [4, 16].map(
      (batchSize) =>
        model.predict({
          tenants: [{ model: 'resnet50', mpsPercent: 100, batchSize }],
          smClockMhz: problem.smClocksMhz[0]!.at(-1)!,
          memClockMhz: problem.memClocksMhz[0]!,
        }).throughput,
    )
    const part = 1 / perS[0]! / (1 / perS[0]! + 1 / perS[1]!)
    const [first, second] = sharesByLoad(problem, 0, 2)
    expect([first, second]).toEqual([Math.floor(20 * part), Math.floor(20 * (1 - part))])
    expect(first).toBeGreaterThan(second!)
  })

  it('gives each service a unit at least, which the largest give back', () => {
    expect(sharesByLoad(problemOf([1000, 1, 1, 1]), 0, 0)).toEqual([17, 1, 1, 1])
    expect(sharesByLoad(problemOf([1000, 990, 1, 1]), 0, 0)).toEqual([9, 9, 1, 1])
  })

  it('is one to so many processes of each service as are allowed, at every batch size, within each share', () => {
    const problem = problemOf([30, 10])
    const starts = startLayouts(problem)
    expect(starts.every((layout) => fits(problem, layout))).toBe(true)
    // Three batch sizes, two kinds of shares, and one to three processes.
    expect(starts.filter(({ memIndex }) => memIndex === 0).map(({ services }) => services)).toEqual(
      [0, 1, 2].flatMap((batch) =>
        [equalShares(problem), sharesByLoad(problem, 0, batch)].flatMap((shares) =>
          [1, 2, 3].map((most) =>
            shares.map((units, i) => {
              const count = Math.min(most, units)
              return { count, units: Math.floor(units / count), batch: i === 0 ? Math.min(batch, 1) : batch }
            }),
          ),
        ),
      ),
    )
    expect(new Set(starts.map(({ memIndex }) => memIndex)).size).toBe(problem.memClocksMhz.length)
  })

  it('is at most four processes of a service, and no more than it has units', () => {
    const counts = startLayouts(problemOf([1000, 1, 1, 1], { maxInstances: 9 })).map(({ services }) =>
      services.map(({ count }) => count),
    )
    expect(Math.max(...counts.flat())).toBe(4)
    expect(counts).toContainEqual([4, 1, 1, 1])
    for (const [, ...small] of counts.filter(([first]) => first === 4))
      expect(Math.max(...small)).toBeLessThanOrEqual(4)
  })

  it('is what the caller gave, before all else', () => {
    const memClockMhz = problemOf([1, 1]).memClocksMhz[0]!
    const tenants = [
      { model: 'resnet50', mpsPercent: 35, batchSize: 4, service: 's0' },
      { model: 'resnet50', mpsPercent: 45, batchSize: 16, service: 's1' },
    ]
    const [first] = startLayouts(problemOf([1, 1], { startFrom: { tenants, smClockMhz: 1005, memClockMhz } }))
    expect(first).toEqual({
      services: [
        { count: 1, units: 7, batch: 1 },
        { count: 1, units: 9, batch: 2 },
      ],
      memIndex: 0,
    })
  })
})
