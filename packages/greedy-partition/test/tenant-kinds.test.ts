import { describe, expect, it } from 'vitest'
import { defaultBatchSizes, tenantKinds } from '../src/tenant-kinds.js'

const kinds = (sharePercentStep: number, batchSizes = defaultBatchSizes) =>
  tenantKinds({
    networks: ['b', 'a'],
    sharePercentStep,
    maxSharePercent: 100,
    batchSizes,
    minBatchPerPercent: 0,
    memoryBytesOf: ({ batchSize }) => batchSize,
  })

describe('tenant kinds', () => {
  it('marks the batch sizes that the published search tries at each share', () => {
    const table = kinds(5)
    const published = (percent: number) =>
      table
        .at(0, percent / 5)
        .filter((kind) => table.published[kind] === 1)
        .map((kind) => table.tenants[kind]!.batchSize)
    expect(published(5)).toEqual([4, 8, 16, 32])
    expect(published(10)).toEqual([8, 16, 32, 64])
    expect(published(20)).toEqual([16, 32, 64, 96, 128])
    expect(published(25)).toEqual([32, 64, 96, 128])
    expect(published(35)).toEqual([32, 64, 96, 128, 192])
    expect(published(40)).toEqual([32, 64, 96, 128, 192, 256])
    expect(published(80)).toEqual([64, 96, 128, 192, 256])
    expect(published(100)).toEqual([96, 128, 192, 256])
    const perNetwork = table.published.reduce((sum, flag) => sum + flag, 0) / 2
    expect(perNetwork).toBe(93)
  })

  it('numbers by network name, share, batch size', () => {
    const table = kinds(50)
    expect(table.networks).toEqual(['a', 'b'])
    expect(table.tenants[0]).toEqual({ model: 'a', mpsPercent: 50, batchSize: 4 })
    expect(table.at(1, 2)).toHaveLength(9)
    expect(table.at(0, 3)).toEqual([])
    expect([...table.memoryBytes]).toEqual(table.tenants.map((tenant) => tenant.batchSize))
  })

  it('has a kind for every share, even where all batch sizes are large or all are small', () => {
    const large = kinds(5, [512])
    expect(large.at(0, 1).map((kind) => large.tenants[kind]!.batchSize)).toEqual([512])
    const small = kinds(100, [1, 2])
    expect(small.at(0, 1).filter((kind) => small.published[kind] === 1)).toHaveLength(1)
  })
})
