import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { groupPool, type KeptShareSource, rankPartners, undecided, type Workload } from '../src/index.js'
import { GroupJudge } from '../src/select/group-judge.js'
import { searchGroups } from '../src/select/search-groups.js'
import { slowdownTable } from './slowdown-table.js'
import { syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(7)

/** A table of any slowdowns. */
const anyTable = fc
  .array(fc.array(fc.double({ min: -2, max: 0.1, noNaN: true }), { minLength: 7, maxLength: 7 }), {
    minLength: 7,
    maxLength: 7,
  })
  .map((exponents) =>
    slowdownTable(
      workloads,
      exponents.map((row) => Float64Array.from(row)),
    ),
  )
const anyPool = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 2, maxLength: 7 })
const anyObjective = fc.constantFrom('throughput' as const, 'speedup' as const)

/** The best value over all ways to divide a pool, by trying them all; -Infinity where none keeps the limits. */
function byTrying(judge: GroupJudge, pool: readonly number[], maxMembers: number, gpus: number): number {
  const place = (job: number, groups: readonly (readonly number[])[]): number => {
    if (job === pool.length) return groups.reduce((sum, group) => sum + (judge.judge(group)?.value ?? -Infinity), 0)
    const open = groups.length < gpus ? [place(job + 1, [...groups, [pool[job]!]])] : []
    const joined = groups.map((group, g) =>
      group.length < maxMembers
        ? place(
            job + 1,
            groups.map((other, i) => (i === g ? [...other, pool[job]!] : other)),
          )
        : -Infinity,
    )
    return Math.max(-Infinity, ...open, ...joined)
  }
  return place(0, [])
}

it('refuses candidates that the source does not have', () => {
  const source = { workloads, keptShares: (members: readonly number[]) => members.map(() => 1) }
  const ranking = () => rankPartners(source, 0, { objective: 'speedup', candidates: [1, 7] })
  expect(ranking).toThrow('candidates: got 7, expected a place from 0 to 6')
})

describe('a pool of jobs', () => {
  it('is divided as well as by trying all ways, and each job is placed once', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyTable,
        anyPool,
        anyObjective,
        fc.integer({ min: 2, max: 4 }),
        fc.integer({ min: 0, max: 2 }),
        async (table, pool, objective, maxMembers, spare) => {
          const gpus = Math.ceil(pool.length / maxMembers) + spare
          const grouping = await groupPool(table, pool, { objective, maxMembers, gpus })
          const best = byTrying(new GroupJudge(table, objective, {}), pool, maxMembers, gpus)
          expect(grouping.value).toBeCloseTo(best, 6)
          expect(grouping).toMatchObject({ method: 'exact' })
          expect(grouping.groups.length).toBeLessThanOrEqual(gpus)
          const placed = grouping.groups.flatMap(({ members }) => members.map(({ name }) => name)).sort()
          expect(placed).toEqual(pool.map((place) => workloads[place]!.name).sort())
        },
      ),
      { numRuns: cases(40) },
    )
  })

  it('is divided nearly as well by search', () => {
    let lost = 0
    fc.assert(
      fc.property(
        anyTable,
        anyPool,
        anyObjective,
        fc.integer({ min: 2, max: 4 }),
        (table, pool, objective, maxMembers) => {
          const gpus = Math.ceil(pool.length / maxMembers)
          const judge = new GroupJudge(table, objective, {})
          const best = byTrying(judge, pool, maxMembers, gpus)
          const found = searchGroups(judge, pool, maxMembers, gpus)!
          const value = found.reduce((sum, group) => sum + judge.judge(group)!.value, 0)
          expect(value).toBeLessThanOrEqual(best + 1e-9 * Math.abs(best))
          lost = Math.max(lost, 1 - value / best)
        },
      ),
      { numRuns: cases(60) },
    )
    expect(lost).toBeLessThan(0.05)
  })

  it('may reach the objectives of its members, and not miss one', () => {
    const [a, b] = workloads.slice(0, 2) as [Workload, Workload]
    const source: KeptShareSource = { workloads: [a, b], keptShares: (members) => members.map(() => 0.5) }
    const judged = (batchTimesMs: Readonly<Record<string, number>>, members = [0, 1]) =>
      new GroupJudge(source, 'speedup', { batchTimesMs }).judge(members)
    const sharedMs = (1000 * a.batchSize) / (a.exclusiveThroughput * 0.5)
    expect(judged({ [a.name]: sharedMs })).not.toBeNull()
    expect(judged({ [a.name]: 0.99 * sharedMs })).toBeNull()
    expect(judged({ [a.name]: 0.99 * sharedMs }, [1, 1])).not.toBeNull()
    expect(() => judged({ [a.name]: 0.49 * sharedMs })).toThrow('its time alone')
    expect(() => judged({ [a.name]: Number.NaN })).toThrow('its time alone')
    expect(() => judged({ nobody: 5 })).toThrow("unknown workload with a batch time 'nobody'")
  })

  it('keeps limits of memory, kept share and power, or says that none does', async () => {
    const table = slowdownTable(
      workloads,
      workloads.map((_, i) => Float64Array.from(workloads, (__, j) => -0.1 * ((i + j) % 7))),
    )
    const pool = [0, 1, 2, 3, 4, 5]
    const memoryGib = 1.2 * Math.max(...pool.map((i) => workloads[i]!.memoryGib))
    const power = {
      capW: 280,
      of: (members: readonly Workload[], kept: readonly number[]) =>
        members.reduce((sum, member, i) => sum + kept[i]! * (70 + 10 * workloads.indexOf(member)), 50),
    }
    const limits = { memoryGib, minKeptShare: 0.6, power }
    const { groups } = await groupPool(table, pool, { objective: 'speedup', limits, maxMembers: 3, gpus: 6 })
    for (const { members, keptShares } of groups) {
      expect(members.reduce((sum, member) => sum + member.memoryGib, 0)).toBeLessThanOrEqual(memoryGib)
      expect(Math.min(...keptShares)).toBeGreaterThanOrEqual(0.6)
      expect(power.of(members, keptShares)).toBeLessThanOrEqual(280)
    }
    await expect(
      groupPool(table, pool, { objective: 'speedup', limits: { memoryGib: 0.5 }, maxMembers: 2 }),
    ).rejects.toThrow('no grouping of 6 jobs on 3 GPUs meets the limits')
    await expect(
      groupPool(table, pool, { objective: 'speedup', limits: { memoryGib: 0.5 }, maxMembers: 2, maxCandidates: 3 }),
    ).rejects.toThrow('was found that meets the limits')
  })

  it('is searched where there are too many groups', async () => {
    const table = slowdownTable(
      workloads,
      workloads.map((_, i) => Float64Array.from(workloads, (__, j) => -0.1 * ((2 * i + j) % 7))),
    )
    const pool = Array.from({ length: 40 }, (_, i) => i % 7)
    const options = { objective: 'throughput', maxMembers: 4 } as const
    const searched = await groupPool(table, pool, { ...options, maxCandidates: 10 })
    const exact = await groupPool(table, pool, options)
    expect(searched.method).toBe('search')
    expect(searched.value).toBeLessThanOrEqual(exact.value * (1 + 1e-9))
    expect(searched.value).toBeGreaterThan(0.97 * exact.value)
  })

  it('refuses options that cannot be', async () => {
    const table = slowdownTable(
      workloads,
      workloads.map(() => new Float64Array(7)),
    )
    const options = { objective: 'speedup', maxMembers: 2 } as const
    await expect(groupPool(table, [], options)).rejects.toThrow('at least one job')
    await expect(groupPool(table, [9], options)).rejects.toThrow('places from 0 to 6')
    await expect(groupPool(table, [0, 1, 2], { ...options, gpus: 1 })).rejects.toThrow('at least 2')
    await expect(groupPool(table, [0], { ...options, maxMembers: 0 })).rejects.toThrow('maxMembers')
    await expect(groupPool(table, [0], { ...options, limits: { minKeptShare: 80 } })).rejects.toThrow('from 0 to 1')
  })
})

describe('a workload that looks for co-runners', () => {
  const source: KeptShareSource = {
    workloads,
    keptShares: (members) => members.map((own, rank) => 1 - 0.1 * members[1 - rank]! - 0.01 * own),
  }

  it('sees the others in order of what the pair is worth', () => {
    const ranked = rankPartners(source, 2, { objective: 'speedup' })
    expect(ranked).toHaveLength(7)
    expect(ranked[0]!.members.map(({ name }) => name)).toEqual([workloads[2]!.name, workloads[0]!.name])
    for (let i = 1; i < ranked.length; i++) expect(ranked[i]!.value).toBeLessThanOrEqual(ranked[i - 1]!.value)
  })

  it('is shown the least expected regret first: of two that promise alike the one that may be more', () => {
    const alike: KeptShareSource = {
      workloads,
      keptShares: (members) => members.map(() => 0.5),
      spreadOf: ([, other]) => (other === 3 ? 0.4 : 0.02),
    }
    const ranked = rankPartners(alike, 2, { objective: 'speedup' })
    expect(ranked[0]!.members[1]).toBe(workloads[3])
    expect(ranked[0]!.expectedRegret).toBeLessThan(ranked[1]!.expectedRegret)
    expect(ranked[0]!.interval!.high).toBeCloseTo(Math.exp(1.645 * 0.4), 12)
    expect(undecided(ranked)!.measure).toEqual([workloads[2], workloads[3]])
    const sure: KeptShareSource = { ...source, spreadOf: () => 1e-3 }
    const clear = rankPartners(sure, 2, { objective: 'speedup' })
    expect(undecided(clear)).toBeNull()
    expect(clear[0]!.expectedRegret).toBeLessThan(1e-2)
    expect(clear[6]!.expectedRegret).toBeCloseTo(clear[0]!.value - clear[6]!.value, 2)
    expect(undecided(rankPartners(source, 2, { objective: 'speedup' }))).toBeNull()
  })

  it('sees groups of any size, all of them, unless there are too many', () => {
    const even: KeptShareSource = { workloads, keptShares: (members) => members.map(() => 1 / members.length) }
    const ranked = rankPartners(even, 2, { objective: 'speedup', size: 3 })
    expect(ranked).toHaveLength((7 * 8) / 2)
    expect(new Set(ranked.map(({ members }) => members.map(({ name }) => name).join())).size).toBe(28)
    expect(ranked.every(({ members }) => members[0] === workloads[2])).toBe(true)
    expect(() => rankPartners(even, 2, { objective: 'speedup', size: 9 })).not.toThrow()
    expect(() => rankPartners(even, 2, { objective: 'speedup', size: 20 })).toThrow('name fewer candidates')
    expect(() => rankPartners(even, 2, { objective: 'speedup', size: 1 })).toThrow('size')
  })

  it('does not see who breaks a limit', () => {
    const limits = { minKeptShare: 0.55 }
    expect(rankPartners(source, 2, { objective: 'speedup', limits })).toHaveLength(5)
    expect(rankPartners(source, 2, { objective: 'speedup', candidates: [4] })).toHaveLength(1)
    expect(() => rankPartners(source, 7, { objective: 'speedup' })).toThrow('a place from 0 to 6')
  })
})
