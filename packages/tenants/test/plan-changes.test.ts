import { sameProcess, type Tenant } from '@pctodl/platform'
import { planChanges } from '@pctodl/tenants'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

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
})
