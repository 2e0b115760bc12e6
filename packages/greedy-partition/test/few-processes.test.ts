import { loadPerfModel } from '@pctodl/perf-model'
import { describe, expect, it } from 'vitest'
import { type FeasiblePartition, type PartitionOptions, partition } from '../src/index.js'

const options = { models: 'resnet50', powerCapW: 200, budgetEvaluations: 800 }
const found = (extra: Partial<PartitionOptions>) =>
  partition(loadPerfModel('A100'), { ...options, ...extra }) as FeasiblePartition

describe('the objective few-processes', () => {
  const most = found({})
  const few = found({ objective: 'few-processes' })

  it('gives up at most 1 % of the throughput, and only for fewer processes or a lower p99', () => {
    expect(few.prediction.throughput).toBeGreaterThanOrEqual(0.99 * most.prediction.throughput)
    expect(few.configuration.tenants.length).toBeLessThanOrEqual(most.configuration.tenants.length)
    expect(few.prediction.powerW).toBeLessThanOrEqual(200)
    const p99 = ({ prediction }: FeasiblePartition) => Math.max(...prediction.tenants.map((each) => each.p99LatencyMs!))
    if (few.configuration.tenants.length === most.configuration.tenants.length)
      expect(p99(few)).toBeLessThanOrEqual(p99(most))
    const last = few.steps.at(-1)!
    expect(last.configuration).toEqual(few.configuration)
  })

  it('shows what more processes would bring, at least 1 % a row', () => {
    expect(most).not.toHaveProperty('trade')
    const trade = few.trade!
    expect(trade.length).toBeGreaterThan(1)
    trade.slice(1).forEach((row, i) => {
      expect(row.processes).toBeGreaterThan(trade[i]!.processes)
      expect(row.throughput).toBeGreaterThanOrEqual(1.01 * trade[i]!.throughput)
    })
    for (const { powerW } of trade) expect(powerW).toBeLessThanOrEqual(200)
  })

  it('counts plans with every network only', () => {
    const { trade, configuration } = found({
      objective: 'few-processes',
      models: [{ model: 'resnet50' }, { model: 'vgg19' }],
    })
    expect(trade![0]!.processes).toBeGreaterThanOrEqual(2)
    expect(new Set(configuration.tenants.map(({ model }) => model)).size).toBe(2)
  })

  it('is one of two', () => {
    expect(() => found({ objective: 'watts' as 'throughput' })).toThrow('objective')
  })
})
