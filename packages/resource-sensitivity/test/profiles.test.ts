import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSynergyTables, throughputAt } from '../src/job-profile.js'
import { arbitraryProfile } from './arbitrary-profile.js'

describe('published tables', () => {
  it('refuses tables that are none', () => {
    expect(() => parseSynergyTables('{}', 3, 'm.json')).toThrow(/m\.json: cpu_levels/)
    const tables = {
      cpu_levels: [1, 2],
      mem_levels_gb: [10],
      ratio3: {
        m: {
          cpu_per_gpu: 2,
          mem_gb_per_gpu: 10,
          iter_time_s_at_fair: 1,
          speedup_at_demand: 1,
          placement_penalty: 1,
          tput: [[1], [2]],
        },
      },
    }
    expect(parseSynergyTables(JSON.stringify(tables))[0]!.model).toBe('m')
    expect(() => parseSynergyTables(JSON.stringify(tables), 4, 'm.json')).toThrow(
      /ratio4 is undefined, expected one of ratio3/,
    )
    tables.ratio3.m.tput.pop()
    expect(() => parseSynergyTables(JSON.stringify(tables), 3, 'm.json')).toThrow(/m\.json: m\.throughput/)
  })
})

describe('throughput between the points of a table', () => {
  it('meets the points, never falls, and is in proportion below the first', () => {
    fc.assert(
      fc.property(
        arbitraryProfile('a'),
        fc.double({ min: 0.1, max: 30, noNaN: true }),
        fc.double({ min: 1, max: 300, noNaN: true }),
        fc.double({ min: 1, max: 1.5, noNaN: true }),
        (profile, cpus, memoryGb, more) => {
          profile.cpusPerGpu.forEach((c, i) => {
            profile.memoryGbPerGpu.forEach((m, j) => {
              expect(throughputAt(profile, c, m)).toBeCloseTo(profile.throughput[i]![j]!, 12)
            })
          })
          const here = throughputAt(profile, cpus, memoryGb)
          expect(throughputAt(profile, cpus * more, memoryGb)).toBeGreaterThanOrEqual(here * (1 - 1e-12))
          expect(throughputAt(profile, cpus, memoryGb * more)).toBeGreaterThanOrEqual(here * (1 - 1e-12))
          expect(throughputAt(profile, 0.5, 250)).toBeCloseTo(throughputAt(profile, 1, 250) / 2, 12)
        },
      ),
      { numRuns: 60 },
    )
  })
})
