import type { SegmentSize } from '@pctodl/mig-deploy'
import { describe, expect, it } from 'vitest'
import { type Changes, type Located, migrationOrder } from '../src/replan/migration.js'

const on = (gpu: number, model: string, sizeGpcs: SegmentSize, start: number, throughput: number): Located => ({
  gpu,
  segment: { model, sizeGpcs, start, throughput, batchSize: 8, processes: 1, latencyMs: 10 },
})
const none: Changes = { kept: [], restarted: [], created: [], removed: [] }

/** The steps, briefly. */
const order = (changes: Partial<Changes>, needed: Readonly<Record<string, number>>) =>
  migrationOrder({ ...none, ...changes }, new Map(Object.entries(needed))).map(({ kind, gpu, segment, shortfall }) =>
    [kind, `${segment.model}@${gpu}`, ...(shortfall ? [shortfall.capacity, shortfall.needed] : [])].join(' '),
  )

describe('the order of a migration', () => {
  it('creates where there is room before it removes', () => {
    expect(
      order(
        { removed: [on(0, 'a', 3, 0, 50)], created: [on(0, 'b', 3, 4, 50), on(1, 'a', 7, 0, 100)] },
        { a: 50, b: 0 },
      ),
    ).toEqual(['create b@0', 'create a@1', 'remove a@0'])
  })

  it('removes what is in the way and not needed, and goes on creating', () => {
    const removed = [on(0, 'a', 7, 0, 80)]
    expect(order({ kept: [on(1, 'a', 7, 0, 100)], removed, created: [on(0, 'b', 7, 0, 60)] }, { a: 90 })).toEqual([
      'remove a@0',
      'create b@0',
    ])
  })

  it('says by how much a service falls short that has to go before its successor is there', () => {
    expect(order({ removed: [on(0, 'a', 7, 0, 80)], created: [on(0, 'a', 4, 0, 60)] }, { a: 50 })).toEqual([
      'remove a@0 0 50',
      'create a@0',
    ])
  })

  it('lets the service fall short that is hurt least, and only of what is in the way', () => {
    const removed = [on(0, 'a', 7, 0, 80), on(1, 'b', 7, 0, 80), on(2, 'c', 7, 0, 10)]
    const created = [on(0, 'b', 7, 0, 70), on(1, 'a', 7, 0, 70)]
    // `b` keeps half of what it needs on another GPU; nobody waits for the place of `c`.
    const kept = [on(3, 'b', 7, 0, 30)]
    expect(order({ kept, removed, created }, { a: 60, b: 60, c: 5 })).toEqual([
      'remove b@1 30 60',
      'create a@1',
      'remove a@0',
      'create b@0',
      'remove c@2 0 5',
    ])
  })

  it('keeps one of two that are harmless alone and not together', () => {
    const removed = [on(0, 'a', 7, 0, 50), on(1, 'a', 7, 0, 50)]
    const created = [on(0, 'b', 7, 0, 50), on(1, 'a', 4, 0, 60)]
    expect(order({ removed, created }, { a: 50 })).toEqual([
      'remove a@0',
      'create b@0',
      'remove a@1 0 50',
      'create a@1',
    ])
  })

  it('restarts what stays where it is once the rest stands', () => {
    const [before, after] = [on(0, 'a', 4, 0, 80), on(0, 'a', 4, 0, 90)]
    const created = [on(1, 'b', 7, 0, 50)]
    expect(order({ restarted: [{ before, after }], created }, { a: 60 })).toEqual(['create b@1', 'restart a@0 0 60'])
    expect(order({ restarted: [{ before, after }], created: [on(1, 'a', 7, 0, 70)] }, { a: 60 })).toEqual([
      'create a@1',
      'restart a@0',
    ])
  })
})
