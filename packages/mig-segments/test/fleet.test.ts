import { findMigBoard, findMigGeometry, freePlacements } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import {
  type Fleet,
  type FleetPlan,
  type ProfilePoint,
  planFleet,
  planSegments,
  type ServiceObjective,
  type ServiceProfile,
} from '../src/index.js'
import { parseProfileCsv } from '../src/input/parse-profile-csv.js'
import { formatMigParted } from '../src/kubernetes/mig-parted.js'
import { formatFleetMap } from '../src/map/fleet-map.js'
import { arbitraryServices } from './arbitrary-services.js'

const point = (profile: string, ratePerS: number, more: Partial<ProfilePoint> = {}): ProfilePoint => ({
  ...{ profile, batchSize: 8, processes: 1, processThroughput: ratePerS, latencyMs: 10 },
  ...more,
})
const objective = (ratePerS: number, model = 'net'): ServiceObjective => ({ model, ratePerS, latencyMs: 100 })

/** Profiles of single boards, named as those of a fleet, with watts. */
function onBoard(board: string, profiles: readonly ServiceProfile[], speed = 1): ServiceProfile[] {
  const { profileNames } = findMigBoard(board)
  return profiles.map(({ model, points }) => ({
    model,
    points: points.map(({ sizeGpcs, processThroughput, ...rest }) => ({
      ...rest,
      processThroughput: speed * processThroughput,
      profile: profileNames[sizeGpcs!],
      powerW: 25 * sizeGpcs! ** 0.7 * speed ** 0.5,
    })),
  }))
}

/** What every plan must keep. */
function expectValid(fleet: Fleet, plan: FleetPlan): void {
  const places = new Set<string>()
  fleet.groups.forEach((group, g) => {
    const boards = plan.boards.filter((board) => board.group === g)
    const geometry = findMigGeometry(group.gpu)
    expect(boards.length).toBeLessThanOrEqual(group.boards ?? Number.POSITIVE_INFINITY)
    const nodeW = new Map<number, number>()
    for (const { gpu, node, index, segments, powerW, smClockMhz } of boards) {
      expect(gpu).toBe(group.gpu)
      places.add(`${g} ${node} ${index}`)
      expect(index).toBeLessThan(group.boardsPerNode ?? 8)
      // Models that share an instance are at one place.
      const instances = segments.filter((each, i) => segments.findIndex(({ start }) => start === each.start) === i)
      const placed = instances.map(({ profile, start }) => ({
        start,
        profile: geometry.profiles.find(({ name }) => name === profile)!,
      }))
      placed.forEach(({ profile, start }, i) => {
        expect(freePlacements(profile, placed.slice(0, i))).toContain(start)
      })
      const compute = placed.reduce((sum, { profile }) => sum + profile.computeSlices, 0)
      expect(compute).toBeLessThanOrEqual(geometry.computeSlices)
      const { idleW = 0 } = group
      const waitingW = typeof idleW === 'object' ? idleW[String(smClockMhz)]! : idleW
      expect(powerW).toBeCloseTo(
        segments.reduce((sum, segment) => sum + (segment.powerW ?? 0), waitingW),
        6,
      )
      expect(powerW).toBeLessThanOrEqual((group.boardCapW ?? Number.POSITIVE_INFINITY) * (1 + 1e-6))
      nodeW.set(node, (nodeW.get(node) ?? 0) + powerW)
    }
    for (const watts of nodeW.values()) {
      expect(watts).toBeLessThanOrEqual((group.nodeCapW ?? Number.POSITIVE_INFINITY) * (1 + 1e-6))
    }
  })
  expect(places.size).toBe(plan.boards.length)
  expect(plan.powerW).toBeLessThanOrEqual((fleet.powerW ?? Number.POSITIVE_INFINITY) * (1 + 1e-6))
  for (const { capacity, ratePerS } of plan.served) expect(capacity).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
  expect(plan.lowerBoundCost).toBeLessThanOrEqual(plan.cost + 1e-9)
}

describe('a fleet of one type', () => {
  it('takes as many boards as a plan for that board, proved alike', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryServices, async ({ profiles, objectives }) => {
        const single = await planSegments(profiles, objectives)
        const fleet = { groups: [{ gpu: 'H100', idleW: 50, profiles: onBoard('H100', profiles) }] }
        const plan = await planFleet(fleet, objectives)
        expectValid(fleet, plan)
        expect(plan.cost).toBe(single.gpuCount)
        expect(Math.max(0, Math.ceil(plan.lowerBoundCost - 1e-6))).toBe(single.lowerBoundGpus)
        expect(plan.unserved.map(({ model }) => model)).toEqual(single.unserved.map(({ model }) => model))
      }),
      { numRuns: cases(12, 6) },
    )
  })
})

describe('a fleet of several types', () => {
  it('costs no more than either type alone, and keeps all limits', async () => {
    let cheaper = 0
    await fc.assert(
      fc.asyncProperty(
        arbitraryServices,
        fc.double({ min: 0.2, max: 1.2, noNaN: true }),
        async ({ profiles, objectives }, price) => {
          const slow = { gpu: 'A100', price, idleW: 40, profiles: onBoard('A100', profiles, 0.4) }
          const fast = { gpu: 'H100', idleW: 60, profiles: onBoard('H100', profiles) }
          const plan = await planFleet({ groups: [slow, fast] }, objectives)
          expectValid({ groups: [slow, fast] }, plan)
          for (const group of [slow, fast]) {
            const alone = await planFleet({ groups: [group] }, objectives)
            expect(plan.cost).toBeLessThanOrEqual(alone.cost + 1e-6)
            if (plan.cost < alone.cost - 1e-6) cheaper++
          }
        },
      ),
      { numRuns: cases(8, 4) },
    )
    expect(cheaper).toBeGreaterThan(cases(3, 1))
  })

  it('is the same in any unit of price', async () => {
    const profiles: ServiceProfile[] = [{ model: 'net', points: [point('1g.10gb', 10, { powerW: 30 })] }]
    for (const price of [1e-12, 1, 1e12, 1e300]) {
      const groups = [
        { gpu: 'H100', profiles, price: 3 * price, idleW: 70 },
        { gpu: 'A100-80GB', profiles, price, idleW: 60 },
      ]
      const plan = await planFleet({ groups }, [objective(140)])
      expect(plan.boards.map(({ gpu }) => gpu)).toEqual(['A100-80GB', 'A100-80GB'])
      expect(plan.cost / price).toBeCloseTo(2, 6)
      expect(plan.lowerBoundCost / price).toBeCloseTo(2, 6)
    }
    const groups = [
      { gpu: 'H100', profiles, price: 1e300 },
      { gpu: 'A100-80GB', profiles },
    ]
    await expect(planFleet({ groups }, [objective(140)])).rejects.toThrow(/groups\[0\]\.price: got 1e\+300/)
  })

  it('keeps the watts of boards, nodes and the fleet, or says that it cannot', async () => {
    let plans = 0
    await fc.assert(
      fc.asyncProperty(
        arbitraryServices,
        fc.integer({ min: 90, max: 200 }),
        fc.integer({ min: 200, max: 500 }),
        async ({ profiles, objectives }, boardCapW, nodeCapW) => {
          const a = {
            gpu: 'A100',
            boards: 8,
            boardsPerNode: 4,
            idleW: 40,
            nodeCapW,
            profiles: onBoard('A100', profiles, 0.4),
          }
          const b = { gpu: 'H100', boardsPerNode: 2, idleW: 60, boardCapW, profiles: onBoard('H100', profiles) }
          const fleet = { groups: [a, b], powerW: 2500 }
          try {
            expectValid(fleet, await planFleet(fleet, objectives))
            plans++
          } catch (error) {
            const { code } = error as { code?: string }
            if (code !== 'TOO_FEW_GPUS' && code !== 'NO_PLAN') throw error
          }
        },
      ),
      { numRuns: cases(10, 5) },
    )
    expect(plans).toBeGreaterThan(cases(4, 1))
  })

  it('takes of points that answer as much the one with fewer watts, then with smaller batches, in any order', async () => {
    const [hot, large, small] = [
      point('1g.6gb', 10, { powerW: 30, batchSize: 1 }),
      point('1g.6gb', 10, { powerW: 20, batchSize: 8 }),
      point('1g.6gb', 10, { powerW: 20, batchSize: 2 }),
    ]
    const orders = [hot, large, small].flatMap((a) =>
      [hot, large, small]
        .filter((b) => b !== a)
        .map((b) => [a, b, ...[hot, large, small].filter((c) => c !== a && c !== b)]),
    )
    for (const points of orders) {
      const group = { gpu: 'A30', idleW: 20, profiles: [{ model: 'net', points }] }
      const { boards } = await planFleet({ groups: [group] }, [objective(9)])
      expect(boards.flatMap(({ segments }) => segments)).toMatchObject([{ batchSize: 2, powerW: 20 }])
    }
  })

  it('has the least power of all plans of its cost, also without a power limit', async () => {
    const points = [point('7g.80gb', 100, { powerW: 300 }), point('7g.80gb', 90, { powerW: 150, batchSize: 4 })]
    const group = { gpu: 'H100', idleW: 50, profiles: [{ model: 'net', points }] }
    const { boards, powerW, lowerBoundPowerW } = await planFleet({ groups: [group] }, [objective(180)])
    expect(boards).toHaveLength(2)
    expect(powerW).toBe(400)
    expect(lowerBoundPowerW).toBeLessThanOrEqual(400)
  })

  it('takes the point with fewer watts where these are short', async () => {
    const points = [point('7g.80gb', 100, { powerW: 300 }), point('7g.80gb', 90, { powerW: 150, batchSize: 4 })]
    const group = { gpu: 'H100', idleW: 50, profiles: [{ model: 'net', points }] }
    const rich = await planFleet({ groups: [group], powerW: 1000 }, [objective(180)])
    expect(rich.boards).toHaveLength(2)
    expect(rich.powerW).toBe(400)
    expect(rich.lowerBoundPowerW).toBeGreaterThan(399)
    await expect(planFleet({ groups: [group], powerW: 390 }, [objective(180)])).rejects.toThrow(/add boards or watts/)
  })
})

describe('profiles of their own', () => {
  it('are double memory, of which a board holds four, and the slices of an A30', async () => {
    const large = [{ model: 'net', points: [point('1g.10gb', 10)] }]
    const onA100 = await planFleet({ groups: [{ gpu: 'A100', profiles: large }] }, [objective(50)])
    expect(onA100.boards.map(({ segments }) => segments.length).sort()).toEqual([1, 4])
    expect(onA100).toMatchObject({ cost: 2, lowerBoundCost: 2 })
    // Beside three of one slice of memory each, only two pairs of slices are left.
    const mixed = [...large, { model: 'small', points: [point('1g.5gb', 10)] }]
    const both = await planFleet({ groups: [{ gpu: 'A100', profiles: mixed }] }, [
      objective(20),
      objective(40, 'small'),
    ])
    expect(both.cost).toBe(1)
    const a30 = {
      gpu: 'A30',
      profiles: [{ model: 'net', points: [point('1g.6gb', 10, { powerW: 9 }), point('4g.24gb', 25, { powerW: 30 })] }],
    }
    const onA30 = await planFleet({ groups: [a30] }, [objective(75)])
    expect(onA30.boards.map(({ segments }) => segments.length)).toEqual([4, 4])
    expectValid({ groups: [a30] }, onA30)
  })

  it('are read by size and by name', () => {
    const read = (cell: string) =>
      parseProfileCsv(
        `Mig instance,Batch size,Workload Number,Throughput,Latency\n${cell},8,1,100,0.01\n`,
        'net',
        'net.csv',
        { geometry: findMigGeometry('A100') },
      ).points[0]!.profile
    expect(read('1')).toBe('1g.5gb')
    expect(read('1g.10gb')).toBe('1g.10gb')
    expect(() => read('1g.20gb')).toThrow(/net.csv, row 2, column Mig instance: got '1g.20gb', expected .*1g.10gb/)
    expect(() => read('5')).toThrow(/expected a size or a profile/)
  })
})

describe('a fleet', () => {
  const group = { gpu: 'A30', idleW: 20, profiles: [{ model: 'net', points: [point('4g.24gb', 40, { powerW: 80 })] }] }

  it('names what it cannot serve, and what is wrong with it', async () => {
    const plan = await planFleet({ groups: [group] }, [objective(10), objective(5, 'other')])
    expect(plan.unserved).toEqual([expect.objectContaining({ model: 'other', reason: 'no-profile' })])
    const wrong = (fleet: Fleet) => planFleet(fleet, [objective(10)])
    await expect(wrong({ groups: [] })).rejects.toThrow(/fleet.groups.*at least one/)
    await expect(wrong({ groups: [{ ...group, boards: 0 }] })).rejects.toThrow(/groups\[0\].boards/)
    await expect(wrong({ groups: [{ ...group, price: -1 }] })).rejects.toThrow(/groups\[0\].price/)
    await expect(wrong({ groups: [{ ...group, boardCapW: 15 }] })).rejects.toThrow(
      /boardCapW.*above those of an idle board, 20/,
    )
    const { idleW, ...unknown } = group
    await expect(wrong({ groups: [unknown], powerW: 500 })).rejects.toThrow(/groups\[0\].idleW/)
    const unmeasured = [{ model: 'net', points: [point('4g.24gb', 40)] }]
    await expect(wrong({ groups: [{ ...group, profiles: unmeasured }], powerW: 500 })).rejects.toThrow(
      /sixth column, Power/,
    )
    await expect(wrong({ groups: [{ ...group, gpu: 'T4' }] })).rejects.toThrow(/no MIG/)
    const strange = [{ model: 'net', points: [point('3g.40gb', 40)] }]
    await expect(wrong({ groups: [{ ...group, profiles: strange }] })).rejects.toThrow(/a MIG profile of A30: 1g.6gb/)
    await expect(wrong({ groups: [{ ...group, boards: 1 }] })).resolves.toMatchObject({ cost: 1 })
    await expect(planFleet({ groups: [{ ...group, boards: 1 }] }, [objective(100)])).rejects.toThrow(
      expect.objectContaining({ code: 'TOO_FEW_GPUS' }),
    )
  })

  it('has no board that draws more than its node may', async () => {
    const hungry = [{ model: 'net', points: [point('1g.10gb', 10, { powerW: 60 })] }]
    const fleet = { groups: [{ gpu: 'H100', idleW: 70, nodeCapW: 200, profiles: hungry }] }
    const plan = await planFleet(fleet, [objective(140)])
    expectValid(fleet, plan)
    expect(plan.cost).toBe(7)
  })

  it('has its boards filled, be they 20,000; more than 100,000 are refused, of one model or of all', async () => {
    const profiles = ['a', 'b'].map((model) => ({ model, points: [point('4g.24gb', 1), point('1g.6gb', 0.2)] }))
    const large = { groups: [{ gpu: 'A30', profiles }] }
    const { boards, cost } = await planFleet(large, [objective(20_000, 'a')])
    expect(boards).toHaveLength(20_000)
    expect(cost).toBe(20_000)
    await expect(planFleet(large, [objective(1e12, 'a')])).rejects.toThrow(
      /objective of a: ratePerS: got 1000000000000, expected/,
    )
    await expect(planFleet(large, [objective(70_000, 'a'), objective(70_000, 'b')])).rejects.toThrow(
      /objective of all models: ratePerS: got 140000/,
    )
  })

  it('by the tail plans for less than the full rate of an instance', async () => {
    const points = [1, 2, 4, 8].map((batchSize) =>
      point('4g.24gb', 400, { batchSize, latencyMs: (1000 * batchSize) / 400 }),
    )
    const tail = { groups: [{ gpu: 'A30', profiles: [{ model: 'net', points }] }] }
    const [byBatch, byTail] = await Promise.all(
      (['latency', 'tail'] as const).map((gate) => planFleet(tail, [objective(400)], { gate })),
    )
    expect(byBatch!.cost).toBe(1)
    expect(byTail!.cost).toBe(2)
    expect(byTail!.boards[0]!.segments[0]!.ratePerS).toBeLessThan(400)
  })

  it('is written as a map and for mig-parted', async () => {
    const { boards } = await planFleet({ groups: [{ ...group, boardsPerNode: 2 }] }, [objective(100)])
    expect(formatFleetMap(boards)).toBe(
      'Board,Node,GPU,Profile,Placement,Model,Batch size,Num proc\n' +
        ['A30,0,0', 'A30,0,1', 'A30,1,0'].map((place) => `${place},4g.24gb,0,net,8,1\n`).join(''),
    )
    expect(formatMigParted(boards)).toMatch(/all-disabled:[\s\S]*pctodl-a30-node-1:\n +- devices:\n +- 0\n/)
  })
})
