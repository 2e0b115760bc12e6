import { IndexedHeap } from '@pctodl/numerics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

describe('IndexedHeap', () => {
  it('knows the first of the items that are in, after every step', () => {
    const step = fc.record({
      item: fc.integer({ min: 0, max: 60 }),
      key: fc.integer({ min: 0, max: 9 }),
      out: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        // A small initial capacity, so that the heap has to grow.
        const heap = new IndexedHeap(2)
        const model = new Map<number, number>()
        for (const { item, key, out } of steps) {
          if (out) {
            heap.remove(item)
            model.delete(item)
          } else {
            heap.set(item, key)
            model.set(item, key)
          }
          expect(heap.size).toBe(model.size)
          const [first] = [...model].sort(([a, keyA], [b, keyB]) => keyA - keyB || a - b)
          expect(heap.firstKey).toBe(first?.[1] ?? Number.POSITIVE_INFINITY)
          if (first) expect(heap.first).toBe(first[0])
        }
      }),
    )
  })
})
