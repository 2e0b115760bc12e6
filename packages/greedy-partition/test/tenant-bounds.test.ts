import { gpuSpecs } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import {
  exhaustive,
  type FeasiblePartition,
  type InfeasiblePartition,
  lowestFeasibleCap,
  type PartitionOptions,
  partition,
} from '../src/index.js'
import { SyntheticPredictor } from './synthetic-predictor.js'
import { UncertainPredictor } from './uncertain-predictor.js'

const board = () => new UncertainPredictor(gpuSpecs['A100']!)
const options: PartitionOptions = { models: 'middle', powerCapW: 200, sharePercentStep: 10 }
const found = (extra: Partial<PartitionOptions>) => partition(board(), { ...options, ...extra }) as FeasiblePartition

describe('the least throughput of a tenant', () => {
  it('is kept by every tenant, and raising it never raises the total', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 3000, noNaN: true }),
        fc.double({ min: 1, max: 3, noNaN: true }),
        (minTenantThroughput, more) => {
          const low = partition(board(), { ...options, minTenantThroughput })
          const high = partition(board(), { ...options, minTenantThroughput: minTenantThroughput * more })
          if (!low.feasible) expect(high.feasible).toBe(false)
          if (!low.feasible || !high.feasible) return
          for (const { throughput } of low.prediction.tenants) {
            expect(throughput).toBeGreaterThanOrEqual(minTenantThroughput)
          }
          expect(high.weightedThroughput).toBeLessThanOrEqual(low.weightedThroughput * 1.01)
        },
      ),
      { numRuns: cases(12) },
    )
  })

  it('is a reason of its own, with the most that there is', () => {
    const result = partition(board(), { ...options, minTenantThroughput: 1e5 }) as InfeasiblePartition
    expect(result).toMatchObject({ feasible: false, reason: 'min-throughput', lowestFeasibleCapW: null })
    const most = Number(/the most found is ([\d.]+)/.exec(result.message)![1])
    // Whatever the cap: the top clock may need more watts than this board takes.
    const { spec } = board()
    const stronger = new SyntheticPredictor({ ...spec, powerLimitW: { ...spec.powerLimitW, max: 1000 } })
    expect(partition(stronger, { ...options, powerCapW: 1000, minTenantThroughput: most - 0.01 }).feasible).toBe(true)
  })

  it('needs watts: the lowest feasible cap rises with it', () => {
    const caps = [0, 500, 1500].map(
      (minTenantThroughput) =>
        lowestFeasibleCap(board(), { models: 'middle', sharePercentStep: 10, minTenantThroughput })!,
    )
    expect(caps[1]!).toBeGreaterThan(caps[0]!)
    expect(caps[2]!).toBeGreaterThan(caps[1]!)
    const short = partition(board(), { ...options, powerCapW: caps[2]! - 0.01, minTenantThroughput: 1500 })
    expect(short).toMatchObject({ feasible: false, reason: 'power-cap', lowestFeasibleCapW: caps[2]! })
    expect(partition(board(), { ...options, powerCapW: caps[2]!, minTenantThroughput: 1500 }).feasible).toBe(true)
  })
})

describe('the latency SLO', () => {
  it('bounds the percentile that it names', () => {
    const mean = found({ latencySloMs: 60 })
    const p99 = found({ latencySloMs: 60, latencyPercentile: 'p99' })
    for (const { latencyMs } of mean.prediction.tenants) expect(latencyMs).toBeLessThanOrEqual(60)
    for (const { p99LatencyMs } of p99.prediction.tenants) expect(p99LatencyMs).toBeLessThanOrEqual(60)
    expect(p99.weightedThroughput).toBeLessThan(mean.weightedThroughput)
  })

  it('cannot bound a percentile that the predictor does not know', () => {
    expect(() =>
      partition(new SyntheticPredictor(gpuSpecs['A100']!), { ...options, latencySloMs: 60, latencyPercentile: 'p99' }),
    ).toThrow(/latencyPercentile.*p99LatencyMs/)
  })

  it('says which percentile was out of reach', () => {
    const result = partition(board(), {
      ...options,
      latencySloMs: 0.5,
      latencyPercentile: 'p99',
    }) as InfeasiblePartition
    expect(result.reason).toBe('latency-slo')
    expect(result.message).toMatch(
      /^middle cannot keep a 99th-percentile latency of 0.5 ms .* lowest found is [\d.]+ ms/,
    )
  })
})

describe('bounds of one of several networks', () => {
  const networks = [
    { model: 'heavy', latencySloMs: 120, minTenantThroughput: 40 },
    { model: 'light', weight: 0.02 },
  ]

  it('hold for its tenants only, and come within 0.5 % of the best', () => {
    const ours = partition(board(), { ...options, models: networks, sharePercentStep: 25 }) as FeasiblePartition
    const best = exhaustive(board(), { ...options, models: networks, sharePercentStep: 25 }) as FeasiblePartition
    ours.configuration.tenants.forEach(({ model }, i) => {
      const { latencyMs, throughput } = ours.prediction.tenants[i]!
      if (model !== 'heavy') return
      expect(latencyMs).toBeLessThanOrEqual(120)
      expect(throughput).toBeGreaterThanOrEqual(40)
    })
    expect(ours.weightedThroughput / best.weightedThroughput).toBeGreaterThan(0.995)
  })

  it('name the network that cannot keep them', () => {
    const models = [{ model: 'light' }, { model: 'heavy', latencySloMs: 0.5 }]
    const result = partition(board(), { ...options, models }) as InfeasiblePartition
    expect(result).toMatchObject({ feasible: false, reason: 'latency-slo' })
    expect(result.message).toContain('heavy cannot keep a latency of 0.5 ms')
  })
})

describe('an empty set of candidates', () => {
  it('is refused with the option that emptied it', () => {
    expect(() => partition(board(), { ...options, maxBatchSize: 2 })).toThrow(
      /maxBatchSize.*at least one of batchSizes/,
    )
    expect(() => partition(board(), { ...options, maxSharePercent: 9 })).toThrow(
      /maxSharePercent.*10 \(the share step\)/,
    )
  })

  it('is a result where only memory empties it', () => {
    const result = partition(board(), { ...options, memoryBytes: 1e8 }) as InfeasiblePartition
    expect(result).toMatchObject({ feasible: false, reason: 'memory', evaluations: 0 })
    expect(result.message).toMatch(/need \d+ MiB of device memory, 95 MiB are there/)
  })
})
