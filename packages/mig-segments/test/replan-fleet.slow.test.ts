import { SeededRandom } from '@pctodl/numerics'
import { freePlacements, geometryOf } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import type { InstanceCoRunners } from '../src/fleet/fleet.js'
import { type Fleet, type ProfilePoint, planFleet, replanFleet, type ServiceObjective } from '../src/index.js'
import { formatFleetMap, type MappedBoard, parseFleetMap } from '../src/map/fleet-map.js'
import { stepFleetMaps } from '../src/replan/fleet-migration.js'
import type { FleetReplan } from '../src/replan/replan-fleet.js'

const models = ['a', 'b', 'c']

function drawn(random: SeededRandom): { fleet: Fleet; objectives: ServiceObjective[] } {
  const groupOf = (gpu: string, speed: number) => {
    const { profiles: slots } = geometryOf(gpu)
    const profiles = models.map((model) => ({
      model,
      points: slots.flatMap(({ name, computeSlices }) =>
        [1400, 1000].map((smClockMhz): ProfilePoint => {
          const rate = speed * (smClockMhz / 1400) * computeSlices ** 0.8 * (8 + 8 * random.uniform())
          const powerW = computeSlices * 20 * (smClockMhz / 1400) ** 2
          return {
            ...{ profile: name, batchSize: 1, processes: 1, processThroughput: rate, latencyMs: 5, powerW, smClockMhz },
          }
        }),
      ),
    }))
    return { gpu, profiles, idleW: { 1400: 60, 1000: 50 } }
  }
  const coRunners: InstanceCoRunners = {
    ...{ profile: '2g.12gb', smClockMhz: 1400, powerW: () => 30 },
    source: {
      workloads: models.map((model) => ({
        ...{ name: `${model}_batch1-inf`, batchSize: 1, training: false, exclusiveThroughput: 16, memoryGib: 1 },
        ...{ threads: 1, smThroughputPercent: 1, dramThroughputPercent: 1, memoryThroughputPercent: 1, registers: 1 },
        ...{ staticSharedMemory: 1, smUtilPercent: 1, memUtilPercent: 1 },
      })),
      keptShares: (members) => members.map(() => (members.length === 1 ? 1 : 0.75)),
    },
  }
  const fleet = { groups: [{ ...groupOf('A30', 1), price: 0.5, coRunners: [coRunners] }, groupOf('H100', 1.5)] }
  const objectives = models.map((model) => ({ model, ratePerS: 20 + 100 * random.uniform(), latencyMs: 1e4 }))
  return { fleet, objectives }
}

const capacityIn = (boards: readonly MappedBoard[], rates: ReadonlyMap<string, number>, model: string) =>
  boards
    .flatMap(({ gpu, smClockMhz, segments }) =>
      segments.map((segment) => {
        const coRunners = segments.filter(({ start }) => start === segment.start).length
        return segment.model === model ? rates.get([gpu, smClockMhz, segment.profile, model, coRunners].join())! : 0
      }),
    )
    .reduce((sum, rate) => sum + rate, 0)

/** Requests/s of every way that may stand in a map, from the fleet itself. */
function ratesOf({ groups }: Fleet): Map<string, number> {
  const rates = new Map<string, number>()
  for (const { gpu, profiles, coRunners = [] } of groups) {
    for (const { model, points } of profiles) {
      for (const point of points) {
        rates.set([gpu, point.smClockMhz, point.profile, model, 1].join(), point.processThroughput)
      }
    }
    for (const { profile, smClockMhz } of coRunners) {
      for (const model of models) rates.set([gpu, smClockMhz, profile, model, 2].join(), 12)
    }
  }
  return rates
}

/** Every map on the way can be made, and no service falls below what it needs without being said. */
function expectWay(current: readonly MappedBoard[], plan: FleetReplan, fleet: Fleet): void {
  const rates = ratesOf(fleet)
  const maps = stepFleetMaps(current, plan.steps)
  const sorted = (boards: readonly MappedBoard[]) => formatFleetMap(boards).trim().split('\n').sort()
  expect(sorted(maps.at(-1) ?? current)).toEqual(sorted(plan.boards))
  maps.forEach((map, i) => {
    for (const { gpu, segments } of map) {
      const geometry = geometryOf(gpu)
      const places = segments.filter((each, s) => segments.findIndex(({ start }) => start === each.start) === s)
      const placed = places.map(({ profile, start }) => ({
        start,
        profile: geometry.profiles.find(({ name }) => name === profile)!,
      }))
      placed.forEach(({ profile, start }, k) => {
        expect(freePlacements(profile, placed.slice(0, k))).toContain(start)
      })
    }
    for (const { model, ratePerS } of plan.served) {
      const needed = Math.min(ratePerS, capacityIn(current, rates, model))
      const said = plan.steps.slice(0, i + 1).some(({ shortfalls }) => shortfalls.some((each) => each.model === model))
      if (!said) expect(capacityIn(map, rates, model)).toBeGreaterThanOrEqual(needed * (1 - 1e-9))
    }
  })
  for (const { model, ratePerS } of plan.served) {
    expect(capacityIn(plan.boards, rates, model)).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
  }
}

describe('a change of a running fleet', () => {
  it('covers the rates with few instances created, on boards that cost no more than before', async () => {
    const random = new SeededRandom(3)
    let fresh = 0
    let created = 0
    for (let round = 0; round < cases(6, 1); round++) {
      const { fleet, objectives } = drawn(random)
      const { boards, cost } = await planFleet(fleet, objectives)
      const current = parseFleetMap(formatFleetMap(boards), 'fleet.csv')
      const same = await replanFleet(current, fleet, objectives)
      expect(same.steps).toEqual([])
      expect(same.lowerBoundMoves).toBe(0)
      const next = objectives.map((each) => ({ ...each, ratePerS: each.ratePerS * (0.6 + 0.8 * random.uniform()) }))
      const plan = await replanFleet(current, fleet, next)
      expectWay(current, plan, fleet)
      expect(plan.cost).toBeLessThanOrEqual(Math.max(cost, plan.freshCost) + 1e-6)
      expect(plan.created + plan.restarted / 2).toBeGreaterThanOrEqual(plan.lowerBoundMoves)
      expect(plan.created + plan.restarted / 2 - plan.lowerBoundMoves).toBeLessThanOrEqual(1)
      created += plan.created
      const scratch = await planFleet(fleet, next)
      const lines = new Set(formatFleetMap(current).split('\n'))
      fresh += formatFleetMap(scratch.boards)
        .split('\n')
        .filter((line) => !lines.has(line)).length
    }
    expect(created).toBeLessThan(0.7 * fresh)
  })

  it('is the fewest that anybody could create, by trying every choice', async () => {
    // Instances of one kind: what is short is created, and nothing else.
    const points = [{ profile: '1g.6gb', batchSize: 1, processes: 1, processThroughput: 10, latencyMs: 5 }]
    const profiles = models.map((model) => ({ model, points }))
    const fleet = { groups: [{ gpu: 'A30', profiles }] }
    const random = new SeededRandom(8)
    for (let round = 0; round < 8; round++) {
      const counts = () => models.map(() => 1 + Math.floor(4 * random.uniform()))
      const asked = (of: readonly number[]) =>
        models.map((model, m) => ({ model, ratePerS: 10 * of[m]! - 3, latencyMs: 100 }))
      const [before, after] = [counts(), counts()]
      const { boards } = await planFleet(fleet, asked(before))
      const plan = await replanFleet(boards, fleet, asked(after))
      const short = after.reduce((sum, count, m) => sum + Math.max(0, count - before[m]!), 0)
      // An instance that is there may change its model, which counts half; a board has room for four.
      const total = (of: readonly number[]) => of.reduce((sum, count) => sum + count, 0)
      expect(plan.created + plan.restarted).toBe(short)
      expect(plan.created + plan.restarted / 2).toBe(plan.lowerBoundMoves)
      expect(plan.cost).toBeLessThanOrEqual(Math.ceil(Math.max(total(before), total(after)) / 4))
      const lean = await replanFleet(boards, fleet, asked(after), { consolidate: true })
      expect(lean.cost).toBe(Math.ceil(total(after) / 4))
    }
  })

  it('is none where the running map serves at no more cost, and does not fail where the work runs out', async () => {
    const { fleet, objectives } = drawn(new SeededRandom(4))
    const asked = (factor: number) =>
      objectives.map((each, m) => ({ ...each, ratePerS: 30 * each.ratePerS * factor ** m }))
    const options = { maxIterations: 200 }
    const { boards } = await planFleet(fleet, asked(1), options)
    const current = parseFleetMap(formatFleetMap(boards), 'fleet.csv')
    const same = await replanFleet(current, fleet, asked(1), options)
    expect(same).toMatchObject({ boards, steps: [], created: 0, restarted: 0, removed: 0, lowerBoundMoves: 0 })
    // Less is asked for, and no board can go.
    const less = await replanFleet(current, fleet, asked(0.999), options)
    expect(less).toMatchObject({ boards, steps: [] })
    // Here the program finds nothing in so little work: boards of a fresh plan stand where their like stood.
    const more = await replanFleet(current, fleet, asked(1.2), options)
    expect(more.lowerBoundMoves).toBe(0)
    expect(more.cost).toBe(more.freshCost)
    expect(more.kept).toBeGreaterThan(more.created)
    const places = more.boards.map(({ gpu, node, index }) => [gpu, node, index].join())
    expect(new Set(places).size).toBe(places.length)
    const maps = stepFleetMaps(current, more.steps)
    expect(formatFleetMap(maps.at(-1)!).trim().split('\n').sort()).toEqual(
      formatFleetMap(more.boards).trim().split('\n').sort(),
    )
  })

  it('keeps the watts of boards, nodes and the fleet, with every step', async () => {
    const random = new SeededRandom(5)
    let felt = 0
    for (let round = 0; round < cases(2, 1); round++) {
      const { fleet: free, objectives: few } = drawn(random)
      const objectives = few.map((each) => ({ ...each, ratePerS: 2.5 * each.ratePerS }))
      const groups = free.groups.map(({ coRunners: _, ...group }) => ({
        ...group,
        ...{ boardsPerNode: 3, boardCapW: 180, nodeCapW: 300 + 80 * random.uniform() },
      }))
      const fleet: Fleet = { groups }
      const { boards } = await planFleet(fleet, objectives, { maxIterations: 800 })
      const current = parseFleetMap(formatFleetMap(boards), 'fleet.csv')
      const next = objectives.map((each) => ({ ...each, ratePerS: each.ratePerS * (0.6 + 0.8 * random.uniform()) }))
      const plan = await replanFleet(current, fleet, next, { maxIterations: 800 })
      expectWay(current, plan, fleet)
      for (const map of [current, ...stepFleetMaps(current, plan.steps)]) {
        for (const { gpu, profiles, idleW, boardCapW, nodeCapW } of groups) {
          const nodes = new Map<number, number>()
          for (const { node, smClockMhz, segments } of map.filter((board) => board.gpu === gpu)) {
            const drawnW = segments.reduce(
              (sum, { profile, model }) => {
                const { points } = profiles.find((each) => each.model === model)!
                return (
                  sum + points.find((point) => point.profile === profile && point.smClockMhz === smClockMhz)!.powerW!
                )
              },
              (idleW as Record<number, number>)[smClockMhz!]!,
            )
            expect(drawnW).toBeLessThanOrEqual(boardCapW * (1 + 1e-9))
            nodes.set(node, (nodes.get(node) ?? 0) + drawnW)
          }
          for (const drawnW of nodes.values()) {
            expect(drawnW).toBeLessThanOrEqual(nodeCapW * (1 + 1e-9))
            if (drawnW > 0.9 * nodeCapW) felt++
          }
        }
      }
    }
    expect(felt).toBeGreaterThan(5)
  })

  it('says what it cannot do', async () => {
    const { fleet, objectives } = drawn(new SeededRandom(1))
    const twice = { groups: [...fleet.groups, ...fleet.groups] }
    await expect(async () => replanFleet([], twice, objectives)).rejects.toThrow(/two groups of A30/)
    const other: MappedBoard = { gpu: 'B200', node: 0, index: 0, segments: [] }
    await expect(replanFleet([other], fleet, objectives)).rejects.toThrow(/current map: got 'B200'.*A30, H100/)
  })
})
