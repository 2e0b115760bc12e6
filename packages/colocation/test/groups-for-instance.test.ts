import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keptShares } from '../src/colocation.js'
import { groupsForInstance, type KeptShareSource } from '../src/index.js'
import { lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(6)
const source: KeptShareSource = {
  workloads,
  keptShares: (members) =>
    members.length === 1 ? [1] : keptShares(lawfulColocation(members.map((place) => workloads[place]!))),
}

/** Objectives that leave each workload a share of its throughput alone. */
const demandsOf = (shares: readonly number[]) =>
  shares.map((share, i) => {
    const { name, exclusiveThroughput, batchSize } = workloads[i]!
    return {
      workload: name,
      ratePerS: share * exclusiveThroughput,
      batchTimeMs: (1000 * batchSize) / (share * exclusiveThroughput),
    }
  })

describe('groups for an instance', () => {
  it('are all groups that keep all objectives and the memory, and no other', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.2, max: 1, noNaN: true }), { minLength: 1, maxLength: 6 }),
        fc.double({ min: 1, max: 40, noNaN: true }),
        fc.integer({ min: 1, max: 4 }),
        (shares, memoryGib, maxMembers) => {
          const found = groupsForInstance(source, demandsOf(shares), { memoryGib, maxMembers })
          const keys = found.map(({ workloads: names }) => names.join())
          let expected = 0
          for (let set = 1; set < 2 ** shares.length; set++) {
            const members = shares.flatMap((_, i) => (set & (1 << i) ? [i] : []))
            if (members.length > maxMembers) continue
            const memory = members.reduce((sum, i) => sum + workloads[i]!.memoryGib, 0)
            const kept = source.keptShares(members)
            const keeps = memory <= memoryGib && members.every((i, k) => kept[k]! >= shares[i]! * (1 + 1e-9))
            const misses = memory > memoryGib || members.some((i, k) => kept[k]! < shares[i]! * (1 - 1e-9))
            const key = members.map((i) => workloads[i]!.name).join()
            if (keeps) expect(keys).toContain(key)
            if (misses) expect(keys).not.toContain(key)
            expected += keeps ? 1 : 0
          }
          expect(found.length).toBeGreaterThanOrEqual(expected)
          for (let i = 1; i < found.length; i++) {
            expect(found[i]!.workloads.length).toBeLessThanOrEqual(found[i - 1]!.workloads.length)
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  it('say what each member does there', () => {
    const [group] = groupsForInstance(source, demandsOf([0.1, 0.1]), { memoryGib: 100, maxMembers: 2 })
    const kept = source.keptShares([0, 1])
    expect(group!.throughputsPerS[1]).toBeCloseTo(kept[1]! * workloads[1]!.exclusiveThroughput, 9)
    expect(group!.batchTimesMs[0]! * group!.throughputsPerS[0]!).toBeCloseTo(1000 * workloads[0]!.batchSize, 6)
    expect(group!.slack).toBeCloseTo(1 - 0.1 / Math.min(...kept), 9)
  })

  it('may have an instance of less than a gibibyte', () => {
    expect(groupsForInstance(source, demandsOf([0.1]), { memoryGib: 0.5, maxMembers: 1 })).toEqual([])
  })

  it('are refused for demands that cannot be, and where there are too many', () => {
    const [demand] = demandsOf([0.5])
    const options = { memoryGib: 10, maxMembers: 2 }
    expect(() => groupsForInstance(source, [{ ...demand!, workload: 'x' }], options)).toThrow("unknown workload 'x'")
    expect(() => groupsForInstance(source, [demand!, demand!], options)).toThrow('one demand per workload')
    expect(() => groupsForInstance(source, [{ ...demand!, ratePerS: -1 }], options)).toThrow('ratePerS')
    expect(() => groupsForInstance(source, [{ ...demand!, batchTimeMs: 0 }], options)).toThrow('batchTimeMs')
    expect(() => groupsForInstance(source, [demand!], { ...options, memoryGib: 0 })).toThrow('memoryGib')
    expect(() => groupsForInstance(source, [demand!], { ...options, maxMembers: 0 })).toThrow('maxMembers')
    const many = syntheticWorkloads(30)
    const all: KeptShareSource = { workloads: many, keptShares: (members) => members.map(() => 1) }
    const easy = many.map(({ name }) => ({ workload: name, ratePerS: 0, batchTimeMs: 1e9 }))
    expect(() => groupsForInstance(all, easy, { memoryGib: 1e6, maxMembers: 6 })).toThrow('allow fewer members')
  })

  it('are refused where they would be too many to look at', () => {
    const seventeen = syntheticWorkloads(17)
    const many = seventeen.map(({ name }) => ({ workload: name, ratePerS: 1e-6, batchTimeMs: 1e9 }))
    const undisturbed: KeptShareSource = { workloads: seventeen, keptShares: (members) => members.map(() => 1) }
    expect(() => groupsForInstance(undisturbed, many, { memoryGib: 1e6, maxMembers: 17 })).toThrow(
      expect.objectContaining({ code: 'TOO_MANY_GROUPS' }),
    )
  })
})
