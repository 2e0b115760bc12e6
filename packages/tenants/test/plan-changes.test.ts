import { sameProcess, type Tenant } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planChanges } from '../src/pool/plan-changes.js'

const tenants: fc.Arbitrary<Tenant[]> = fc.array(
  fc.record({
    model: fc.constantFrom('a', 'b'),
    mpsPercent: fc.constantFrom(10, 20, 30, 50),
    batchSize: fc.constantFrom(1, 8),
  }),
  { maxLength: 7 },
)

describe('planChanges', () => {
  it('gives every running tenant one fate and every wanted one one origin', () => {
    fc.assert(
      fc.property(tenants, tenants, (running, wanted) => {
        const { kept, removed, shrinking, growing, added } = planChanges(running, wanted)
        const from = [...kept, ...shrinking, ...growing].map((change) => change.from)
        const to = [...kept, ...shrinking, ...growing].map((change) => change.to)
        expect([...from, ...removed].sort()).toEqual([...running.keys()].sort())
        expect([...to, ...added].sort()).toEqual([...wanted.keys()].sort())
        for (const change of kept) expect(sameProcess(running[change.from]!, wanted[change.to]!)).toBe(true)
        for (const change of shrinking) {
          expect(wanted[change.to]!.mpsPercent).toBeLessThanOrEqual(running[change.from]!.mpsPercent)
        }
        // Nothing is restarted that could have stayed.
        const left = removed.concat([...shrinking, ...growing].map((change) => change.from)).map((i) => running[i]!)
        const open = [...added, ...[...shrinking, ...growing].map((change) => change.to)].map((i) => wanted[i]!)
        for (const old of left) expect(open.some((tenant) => sameProcess(old, tenant))).toBe(false)
      }),
    )
  })

  it('keeps everything when only batches change', () => {
    fc.assert(
      fc.property(tenants, fc.constantFrom(2, 4), (running, batchSize) => {
        const changes = planChanges(
          running,
          running.map((tenant) => ({ ...tenant, batchSize })),
        )
        expect(changes.kept).toEqual(running.map((_, i) => ({ from: i, to: i })))
      }),
    )
  })

  const of = (model: string, ...shares: readonly number[]): Tenant[] =>
    shares.map((mpsPercent) => ({ model, mpsPercent, batchSize: 1 }))

  it('restarts the largest as the largest, so that few shares move', () => {
    expect(planChanges(of('a', 10, 50, 30), of('b', 40, 20, 25))).toEqual({
      kept: [],
      removed: [],
      shrinking: [
        { from: 1, to: 0 },
        { from: 2, to: 2 },
      ],
      growing: [{ from: 0, to: 1 }],
      added: [],
    })
  })

  it('lets the smallest go, or start without a predecessor, where the numbers differ', () => {
    expect(planChanges(of('a', 10, 50, 30), of('b', 20))).toMatchObject({
      shrinking: [{ from: 1, to: 0 }],
      removed: [2, 0],
    })
    expect(planChanges(of('a', 20), of('b', 10, 50, 30))).toMatchObject({
      growing: [{ from: 0, to: 1 }],
      added: [2, 0],
    })
  })

  it('pairs equal shares in their order', () => {
    expect(planChanges(of('a', 30, 30, 30), of('b', 30, 30, 30)).shrinking).toEqual(
      [0, 1, 2].map((i) => ({ from: i, to: i })),
    )
  })

  it('never needs more shares on the way than before or after, where what shrinks or goes comes first', () => {
    fc.assert(
      fc.property(tenants, tenants, (running, wanted) => {
        const { removed, shrinking, growing, added } = planChanges(running, wanted)
        const sum = (some: readonly Tenant[]) => some.reduce((total, { mpsPercent }) => total + mpsPercent, 0)
        const most = Math.max(sum(running), sum(wanted))
        let used = sum(running)
        for (const from of removed) used -= running[from]!.mpsPercent
        for (const { from, to } of [...shrinking, ...growing]) {
          used += wanted[to]!.mpsPercent - running[from]!.mpsPercent
          expect(used).toBeLessThanOrEqual(most)
        }
        for (const to of added) used += wanted[to]!.mpsPercent
        expect(used).toBe(sum(wanted))
      }),
    )
  })
})
