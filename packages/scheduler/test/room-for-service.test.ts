import type { Service, Tenant } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeRoomFor } from '../src/services/room-for-service.js'

const service = (name: string): Service => ({
  name,
  model: 'resnet50',
  objective: { p99Ms: 60 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 2,
})
const tenant = (name: string, mpsPercent: number): Tenant => ({
  model: 'resnet50',
  mpsPercent,
  batchSize: 16,
  service: name,
})
const newcomer = (name: string) => ({ service: service(name), ratePerS: 10 })
const sharesOf = (tenants: readonly Tenant[]) => tenants.map(({ mpsPercent }) => mpsPercent)
const total = (tenants: readonly Tenant[]) => sharesOf(tenants).reduce((sum, share) => sum + share, 0)
/** Each service bears as much as its tenant has of what it needs. */
const bearing = (needs: Readonly<Record<string, number>>) => (tenants: readonly Tenant[]) =>
  Math.min(...tenants.map(({ service: name, mpsPercent }) => mpsPercent / needs[name!]!))

describe('room for a service', () => {
  it('is what is free, where all bear their load with that', () => {
    const kept = [tenant('a', 40), tenant('b', 30)]
    const made = makeRoomFor(kept, [newcomer('c')], bearing({ a: 40, b: 30, c: 30 }))
    expect(made).toEqual([...kept, tenant('c', 30)])
    expect(made[0]).toBe(kept[0])
  })

  it('is what one tenant gives, so that all have most room', () => {
    const kept = [tenant('a', 60), tenant('b', 40)]
    const made = makeRoomFor(kept, [newcomer('c')], bearing({ a: 10, b: 40, c: 20 }))
    // b has nothing to give; of a's 60 as much as leaves all of them at 1 and more.
    expect(made.map(({ service: name }) => name)).toEqual(['a', 'b', 'c'])
    expect(made[1]).toBe(kept[1])
    expect(total(made)).toBe(100)
    expect(made[2]!.mpsPercent).toBeGreaterThanOrEqual(20)
  })

  it('adds what is free to what a tenant gives', () => {
    const kept = [tenant('a', 90)]
    const made = makeRoomFor(kept, [newcomer('b')], bearing({ a: 50, b: 50 }))
    expect(sharesOf(made)).toEqual([50, 50])
  })

  it('is shared by several that come at once', () => {
    const made = makeRoomFor([tenant('a', 40)], [newcomer('b'), newcomer('c')], bearing({ a: 40, b: 30, c: 30 }))
    expect(sharesOf(made)).toEqual([40, 30, 30])
  })

  it('is none where nobody is new, or has anything to give', () => {
    const kept = [tenant('a', 100)]
    expect(makeRoomFor(kept, [], () => 1)).toBe(kept)
    const smallest = Array.from({ length: 20 }, (_, i) => tenant(`s${i}`, 5))
    expect(makeRoomFor(smallest, [newcomer('late')], () => 1)).toBe(smallest)
  })

  it('never takes more than there is, gives nobody less than five percent, and changes one tenant at most', () => {
    const shares = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 }).map((units) => {
      const sum = units.reduce((total, unit) => total + unit, 0)
      return units.map((unit) => Math.max(5, 5 * Math.floor((20 * unit) / (sum + 2))))
    })
    fc.assert(
      fc.property(
        shares.filter((list) => list.reduce((a, b) => a + b, 0) <= 100),
        fc.integer({ min: 1, max: 60 }),
        (list, need) => {
          const kept = list.map((share, i) => tenant(`k${i}`, share))
          const needs = Object.fromEntries([
            ...kept.map(({ service: name, mpsPercent }) => [name, mpsPercent]),
            ['new', need],
          ])
          const made = makeRoomFor(kept, [newcomer('new')], bearing(needs))
          expect(total(made)).toBeLessThanOrEqual(100 + 1e-9)
          expect(Math.min(...sharesOf(made))).toBeGreaterThanOrEqual(5)
          expect(made.slice(0, kept.length).filter((each, i) => each !== kept[i]).length).toBeLessThanOrEqual(1)
          // Nobody gives who need not.
          if (100 - total(kept) >= Math.max(5, need)) expect(made.slice(0, kept.length)).toEqual(kept)
        },
      ),
    )
  })
})
