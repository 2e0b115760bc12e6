import path from 'node:path'
import {
  type BoardGroup,
  type DayOptions,
  type Fleet,
  type FleetBoard,
  formatDeploymentMap,
  formatFleetMap,
  loadObjectives,
  loadProfiles,
  parseDeploymentMap,
  parseFleetMap,
  placementConflict,
  planAsPublished,
  planDay,
  planFleet,
  planForTail,
  planSegments,
  replanFleet,
  type ServiceObjective,
  simulateFleet,
  simulatePlan,
} from '@pctodl/mig-segments'
import { findMigGeometry } from '@pctodl/platform'
import { golden, goldenJson, referenceFolder } from '@pctodl/reference-data'
import { describe, expect, it } from 'vitest'
import { type Asked, drawnServices, fleetProfiles } from './drawn-services.js'

describe('the published plan', () => {
  const folder = referenceFolder('parvagpu')
  const data = (set: 'head' | 'sc24', maxProcesses: number) => {
    const base = set === 'head' ? folder : path.join(folder, 'sc24')
    const profiles = loadProfiles(path.join(base, 'prof_data'), { maxProcesses })
    return {
      profiles,
      rows: loadObjectives(
        path.join(base, 'SLO'),
        profiles.map(({ model }) => model),
      ),
    }
  }

  it.each([
    ['head', 3, 'SLO{}_deploy.csv'],
    ['sc24', 3, 'sc24/SLO{}_deploy_cap3.csv'],
    ['sc24', 5, 'sc24/SLO{}_published.csv'],
  ] as const)('of %s with %i processes is that of its authors', (set, most, file) => {
    const { profiles, rows } = data(set, most)
    for (const row of [1, 2, 3]) {
      const plan = planAsPublished(profiles, rows[row - 1]!, { starts: 'as-published' })
      expect(formatDeploymentMap(plan.gpus).trim()).toBe(
        golden(`parvagpu/golden/${file.replace('{}', String(row))}`).trim(),
      )
      const legal = planAsPublished(profiles, rows[row - 1]!)
      for (const { segments } of legal.gpus) expect(placementConflict(segments)).toBeNull()
      expect(legal.gpuCount).toBe(plan.gpuCount)
    }
  })

  it('is never better than ours, whose optima are those of an integer program', async () => {
    for (const set of ['head', 'sc24'] as const) {
      const { profiles, rows } = data(set, 3)
      const known = goldenJson('parvagpu/golden/outcomes.json')[set] as Record<
        string,
        { optimum: { gpus: number; min_gpcs_at_that_count: number } }
      >
      for (const [i, row] of rows.slice(0, 3).entries()) {
        const { gpus, min_gpcs_at_that_count: gpcs } = known[`SLO${i + 1}`]?.optimum ?? known[String(i + 1)]!.optimum
        const ours = await planSegments(profiles, row)
        expect([ours.gpuCount, ours.gpcCount]).toEqual([gpus, gpcs])
        expect(planAsPublished(profiles, row).gpuCount).toBeGreaterThanOrEqual(gpus)
      }
    }
  })
})

describe('what requests meet in a plan', () => {
  it('by chance or in bunches, at one queue or at one for each segment, is in time', async () => {
    for (const asked of drawnServices(4, 19, 2)) {
      const counts: number[] = []
      for (const options of [{}, { burstiness: 6 }, { dispatch: 'split' as const }, { burstiness: 0.3 }]) {
        const plan = await planForTail(asked.profiles, asked.objectives, { ...options, checkRequests: 5000 })
        for (const { segments } of plan.gpus) expect(placementConflict(segments)).toBeNull()
        const met = simulatePlan(plan, asked.profiles, {
          requests: 8000,
          seed: 11,
          burstiness: plan.burstiness,
          dispatch: plan.dispatch,
        })
        for (const [i, { late, requests, p99Ms }] of met.entries()) {
          expect(late / requests).toBeLessThan(0.015)
          expect(p99Ms).toBeLessThan(1.1 * plan.served[i]!.latencyMs)
        }
        for (const { utilisation, lateShare } of plan.tails) {
          expect(utilisation).toBeGreaterThan(0)
          expect(utilisation).toBeLessThan(1)
          expect(lateShare).toBeLessThanOrEqual(0.0101)
        }
        for (const { keepableMs, latencyMs, ratePerS, model } of plan.unserved) {
          if (keepableMs === undefined) continue
          expect(keepableMs).toBeGreaterThan(latencyMs)
          const eased = await planForTail(asked.profiles, [{ model, ratePerS, latencyMs: 1.05 * keepableMs }], {
            ...options,
            checkRequests: 0,
          })
          expect(eased.unserved).toEqual([])
        }
        counts.push(plan.served.length === 0 ? 0 : plan.gpcCount)
      }
      // Bunches take more room.
      if (counts[0]! > 0 && counts[1]! > 0) expect(counts[1]).toBeGreaterThanOrEqual(counts[0]!)
    }
  })
})

const wattsOf = (group: BoardGroup, model: string, profile: string, batchSize: number, processes: number) =>
  group.profiles
    .find((each) => each.model === model)!
    .points.find(
      (point) => point.profile === profile && point.batchSize === batchSize && point.processes === processes,
    )!

/** Boards whose instances are measured ones, that add up to what they serve, draw and cost. */
function expectFleet(
  plan: {
    boards: readonly FleetBoard[]
    served: readonly (ServiceObjective & { capacity: number })[]
    cost: number
    powerW: number
  },
  fleet: Fleet,
): void {
  for (const { group, gpu, segments, powerW } of plan.boards) {
    const of = fleet.groups[group]!
    const geometry = findMigGeometry(gpu)!
    const drawn = segments.reduce(
      (sum, { model, profile, batchSize, processes }) =>
        sum + wattsOf(of, model, profile, batchSize, processes).powerW!,
      of.idleW as number,
    )
    expect(powerW).toBeCloseTo(drawn, 6)
    if (of.boardCapW !== undefined) expect(powerW).toBeLessThanOrEqual(of.boardCapW)
    const slices = segments.reduce(
      (sum, { profile }) => sum + geometry.profiles.find(({ name }) => name === profile)!.computeSlices,
      0,
    )
    expect(slices).toBeLessThanOrEqual(7)
  }
  expect(plan.cost).toBeCloseTo(
    plan.boards.reduce((sum, { group }) => sum + (fleet.groups[group]!.price ?? 1), 0),
    9,
  )
  expect(plan.powerW).toBeCloseTo(
    plan.boards.reduce((sum, { powerW }) => sum + powerW, 0),
    6,
  )
  for (const { model, ratePerS, capacity } of plan.served) {
    const own = plan.boards.flatMap(({ segments }) => segments).filter((segment) => segment.model === model)
    // By the tail batches are not full, so that the instances have more.
    expect(own.reduce((sum, { throughput }) => sum + throughput, 0)).toBeGreaterThanOrEqual(0.95 * capacity)
    expect(capacity).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
  }
}

const fleetOf = (asked: Asked): Fleet => ({
  groups: [
    { gpu: 'A100-80GB', profiles: fleetProfiles(asked), price: 1, idleW: 60, boards: 6, boardsPerNode: 2 },
    { gpu: 'H100', profiles: fleetProfiles(asked, 1.7), price: 1.6, idleW: 80, boards: 6, boardsPerNode: 2 },
  ],
})

describe('a fleet', () => {
  const all = drawnServices(6, 404, 3, 1.5)

  it('is planned at the least cost and then the fewest watts, within all its limits', async () => {
    for (const asked of all) {
      const fleet = fleetOf(asked)
      const plan = await planFleet(fleet, asked.objectives)
      expectFleet(plan, fleet)
      expect(plan.lowerBoundCost).toBeCloseTo(plan.cost, 6)
      expect(plan.lowerBoundPowerW).toBeLessThanOrEqual(plan.powerW * (1 + 1e-9))
      expect(parseFleetMap(formatFleetMap(plan.boards), 'map.csv')).toHaveLength(plan.boards.length)
      const limited: Fleet = {
        ...fleet,
        powerW: 1.02 * plan.powerW,
        groups: fleet.groups.map((group) => ({ ...group, boardCapW: 260, nodeCapW: 480 })),
      }
      const within = await planFleet(limited, asked.objectives)
      expectFleet(within, limited)
      expect(within.cost).toBeGreaterThanOrEqual(plan.cost - 1e-9)
      expect(within.powerW).toBeLessThanOrEqual(1.02 * plan.powerW)
      const nodes = new Map<string, number>()
      for (const { gpu, node, powerW } of within.boards)
        nodes.set(`${gpu} ${node}`, (nodes.get(`${gpu} ${node}`) ?? 0) + powerW)
      for (const watts of nodes.values()) expect(watts).toBeLessThanOrEqual(480)
      const few = { groups: fleet.groups.map((group) => ({ ...group, boards: 0 })) }
      await expect(planFleet(few, asked.objectives)).rejects.toThrow()
    }
  })

  it('by the tail answers 99 of 100 requests in time', async () => {
    const [asked] = all as [Asked]
    const fleet = fleetOf(asked)
    const plan = await planFleet(fleet, asked.objectives, { gate: 'tail', checkRequests: 5000 })
    expectFleet(plan, fleet)
    for (const { late, requests } of simulateFleet(plan, fleet, { requests: 8000, seed: 3 }))
      expect(late / requests).toBeLessThan(0.015)
    expect([...plan.served, ...plan.unserved]).toHaveLength(asked.objectives.length)
  })

  it('changes with few instances moved, and none where none must be', async () => {
    let moved = 0
    let fresh = 0
    for (const [i, asked] of all.entries()) {
      const fleet = fleetOf(asked)
      const plan = await planFleet(fleet, asked.objectives)
      const map = parseFleetMap(formatFleetMap(plan.boards), 'map.csv')
      const same = await replanFleet(map, fleet, asked.objectives)
      expect(same).toMatchObject({ created: 0, removed: 0, restarted: 0, steps: [] })
      const changed = asked.objectives.map((objective, m) => ({
        ...objective,
        ratePerS: objective.ratePerS * ((i + m) % 2 === 0 ? 1.35 : 0.6),
      }))
      for (const consolidate of [false, true]) {
        const next = await replanFleet(map, fleet, changed, { consolidate })
        expectFleet(next, fleet)
        const count = (kind: string) => next.steps.filter((step) => step.kind === kind).length
        expect([count('create'), count('remove'), count('restart')]).toEqual([
          next.created,
          next.removed,
          next.restarted,
        ])
        expect(next.lowerBoundMoves).toBeLessThanOrEqual(next.created + next.restarted / 2 + 1e-9)
        if (consolidate) expect(next.cost).toBeLessThanOrEqual(next.freshCost + 1e-9)
        else {
          expect(next.cost).toBeLessThanOrEqual(Math.max(plan.cost, next.freshCost) + 1e-9)
          moved += next.created
          fresh += next.boards.flatMap(({ segments }) => segments).length
        }
        const instances = (boards: readonly FleetBoard[]) => boards.flatMap(({ segments }) => segments).length
        expect(instances(next.boards)).toBe(instances(plan.boards) + next.created - next.removed)
      }
    }
    expect(moved).toBeLessThan(0.6 * fresh)
  })
})

describe('a day', () => {
  const costs: DayOptions = { periodS: 3600, migrationS: 60, idleW: 60, parkedW: 0 }
  const rise = (asked: Asked, parts: readonly number[]) =>
    parts.map((part) => asked.objectives.map((objective) => ({ ...objective, ratePerS: part * objective.ratePerS })))

  it.each(['latency', 'tail'] as const)(
    'planned by %s is covered in each period, and cheaper than its peak all day',
    async (gate) => {
      for (const asked of drawnServices(2, 66, 2, 1.5)) {
        const day = rise(asked, [0.2, 0.6, 1, 0.5])
        const schedule = await planDay(asked.profiles, day, {
          ...costs,
          gate,
          mostIterations: 2000,
          ...(gate === 'tail' ? { checkRequests: 2000 } : {}),
        })
        for (const [i, { gpus }] of schedule.periods.entries()) {
          for (const { segments } of gpus) expect(placementConflict(segments)).toBeNull()
          for (const { model, ratePerS } of day[i]!) {
            if (schedule.unserved.some((service) => service.model === model)) continue
            const own = gpus.flatMap(({ segments }) => segments).filter((segment) => segment.model === model)
            expect(own.reduce((sum, { throughput }) => sum + throughput, 0)).toBeGreaterThanOrEqual(
              ratePerS * (1 - 1e-9),
            )
          }
          expect(parseDeploymentMap(formatDeploymentMap(gpus), 'map.csv')).toHaveLength(gpus.length)
        }
        const { energyJ, staticPlan, redeployed, lowerBoundJ, mostGpus, created } = schedule
        expect(energyJ).toBeLessThanOrEqual(staticPlan.energyJ * (1 + 1e-9))
        expect(energyJ).toBeGreaterThanOrEqual(lowerBoundJ * (1 - 1e-9))
        expect(energyJ).toBeLessThan(1.4 * lowerBoundJ)
        expect(mostGpus).toBe(
          Math.max(...schedule.periods.map(({ gpus }) => gpus.filter(({ segments }) => segments.length > 0).length)),
        )
        expect(created).toBeLessThanOrEqual(redeployed.created)
        expect(schedule.periods.reduce((sum, period) => sum + period.energyJ, 0)).toBeLessThanOrEqual(
          energyJ * (1 + 1e-9),
        )
        const requests = day.flat().reduce((sum, { ratePerS }) => sum + 3600 * ratePerS, 0)
        expect(schedule.requests).toBeLessThanOrEqual(requests * (1 + 1e-9))
      }
    },
  )

  it('that does not change has one map, and costs what it draws', async () => {
    const [asked] = drawnServices(1, 5, 2) as [Asked]
    const schedule = await planDay(asked.profiles, rise(asked, [1, 1, 1]), { ...costs, mostIterations: 2000 })
    expect(schedule).toMatchObject({ created: 0, lateRequests: 0 })
    expect(schedule.periods[1]!.steps).toEqual([])
    expect(schedule.periods[1]!.gpus).toEqual(schedule.periods[0]!.gpus)
    expect(schedule.energyJ).toBeLessThanOrEqual(schedule.staticPlan.energyJ)
  })

  it('refuses costs that cannot be, by name', async () => {
    const [asked] = drawnServices(1, 5, 1) as [Asked]
    for (const [wrong, message] of [
      [{ periodS: 0 }, /periodS: got 0/],
      [{ migrationS: -1 }, /migrationS/],
      [{ migrationS: 4000 }, /migrationS/],
      [{ idleW: -1 }, /idleW/],
      [{ parkedW: 100 }, /parkedW/],
      [{ mostLate: 0.5 }, /mostLate/],
      [{ gpus: 0 }, /gpus/i],
      [{ seed: 0.5 }, /seed/],
      [{ mostIterations: -1 }, /mostIterations/],
    ] as const) {
      await expect(planDay(asked.profiles, rise(asked, [1, 0.5]), { ...costs, ...wrong })).rejects.toThrow(message)
    }
  })
})
