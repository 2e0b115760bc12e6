import {
  type BoundedPlan,
  formatProfileCsv,
  latencyGateMs,
  type PlannedGpu,
  type ProfilePoint,
  parseProfileCsv,
  planDay,
  planFleet,
  planSegments,
  replanFleet,
  type ServiceObjective,
  type ServiceProfile,
  simulatePlan,
  throughputOf,
} from '@pctodl/mig-segments'
import { placementConflict } from '@pctodl/platform'
import { planAsPublished } from '@pctodl/published/segments'
import { describe, expect, it } from 'vitest'
import { type Asked, drawnServices, fleetProfiles } from './drawn-services.js'

const SIZES = [1, 2, 3, 4, 7] as const
/** Compute slices of the instances that an A100 or H100 may have at once, as its vendor lists them; any part of one may be, too. */
const BOARDS: readonly (readonly number[])[] = [
  [7],
  [4, 3],
  [4, 2, 1],
  [4, 1, 1, 1],
  [3, 3],
  [3, 2, 2],
  [3, 2, 1, 1],
  [3, 1, 1, 1, 1],
  [2, 2, 2, 1],
  [2, 2, 1, 1, 1],
  [2, 1, 1, 1, 1, 1],
  [1, 1, 1, 1, 1, 1, 1],
]

/** Of each size the most items/s within the gate. */
function bestOf({ profiles }: Asked, { model, latencyMs }: ServiceObjective): Map<number, number> {
  const best = new Map<number, number>()
  for (const point of profiles.find((profile) => profile.model === model)!.points) {
    if (point.latencyMs < 0.45 * latencyMs)
      best.set(point.sizeGpcs!, Math.max(best.get(point.sizeGpcs!) ?? 0, throughputOf(point)))
  }
  return best
}

const boardCounts = BOARDS.map((board) => SIZES.map((size) => board.filter((each) => each === size).length))
const known = new Map<string, number>()

/** Fewest boards that have so many instances of each size. */
function boardsFor(counts: readonly number[]): number {
  if (counts.every((count) => count === 0)) return 0
  const key = counts.join()
  const before = known.get(key)
  if (before !== undefined) return before
  let least = Number.POSITIVE_INFINITY
  for (const board of boardCounts) {
    const left = counts.map((count, i) => Math.max(0, count - board[i]!))
    if (left.join() !== key) least = Math.min(least, 1 + boardsFor(left))
  }
  known.set(key, least)
  return least
}

/** Fewest boards, and of those fewest slices, by trying all numbers of instances of each size. */
function bruteForce(asked: Asked): { gpus: number; gpcs: number } {
  const served = asked.objectives
    .map((objective) => ({ objective, best: bestOf(asked, objective) }))
    .filter(({ best }) => best.size > 0)
  const covers = served.map(({ objective: { ratePerS }, best }) => {
    const sizes = [...best.keys()]
    const found: number[][] = []
    const extend = (at: number, counts: number[], left: number): void => {
      if (left <= 1e-9) {
        found.push(counts)
        return
      }
      for (let i = at; i < sizes.length; i++) {
        extend(
          i,
          counts.with(SIZES.indexOf(sizes[i] as 1), counts[SIZES.indexOf(sizes[i] as 1)]! + 1),
          left - best.get(sizes[i]!)!,
        )
      }
    }
    extend(0, [0, 0, 0, 0, 0], ratePerS)
    return found
  })
  let best = { gpus: Number.POSITIVE_INFINITY, gpcs: Number.POSITIVE_INFINITY }
  const combine = (at: number, sum: readonly number[]): void => {
    if (at === covers.length) {
      const gpus = boardsFor(sum)
      const gpcs = sum.reduce((total, count, i) => total + count * SIZES[i]!, 0)
      if (gpus < best.gpus || (gpus === best.gpus && gpcs < best.gpcs)) best = { gpus, gpcs }
      return
    }
    for (const cover of covers[at]!)
      combine(
        at + 1,
        sum.map((count, i) => count + cover[i]!),
      )
  }
  combine(0, [0, 0, 0, 0, 0])
  return best
}

/** Every instance is a measured one in a legal place, and every rate is covered. */
function expectSound(plan: Pick<BoundedPlan, 'gpus' | 'served' | 'unserved'>, asked: Asked): void {
  for (const { segments } of plan.gpus) {
    expect(placementConflict(segments)).toBeNull()
    const sizes = segments.map(({ sizeGpcs }) => sizeGpcs)
    const fits = BOARDS.some((board) =>
      SIZES.every(
        (size) => sizes.filter((each) => each === size).length <= board.filter((each) => each === size).length,
      ),
    )
    expect(fits, sizes.join()).toBe(true)
    for (const segment of segments) {
      const objective = asked.objectives.find(({ model }) => model === segment.model)!
      expect(segment.latencyMs).toBeLessThan(latencyGateMs(objective.latencyMs))
      const point = asked.profiles
        .find(({ model }) => model === segment.model)!
        .points.find(
          ({ sizeGpcs, batchSize, processes }) =>
            sizeGpcs === segment.sizeGpcs && batchSize === segment.batchSize && processes === segment.processes,
        )!
      expect(segment.throughput).toBe(throughputOf(point))
      expect(segment.latencyMs).toBe(point.latencyMs)
    }
  }
  for (const { model, ratePerS, capacity, segments, gpcs } of plan.served) {
    const own = plan.gpus.flatMap((gpu) => gpu.segments.filter((segment) => segment.model === model))
    expect(capacity).toBeCloseTo(
      own.reduce((sum, { throughput }) => sum + throughput, 0),
      6,
    )
    expect(capacity).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
    expect(segments).toBe(own.length)
    expect(gpcs).toBe(own.reduce((sum, { sizeGpcs }) => sum + sizeGpcs, 0))
  }
  expect([...plan.served, ...plan.unserved].map(({ model }) => model).sort()).toEqual(
    asked.objectives.map(({ model }) => model).sort(),
  )
  for (const { model, reason } of plan.unserved as BoundedPlan['unserved']) {
    expect(reason).toBe('latency')
    expect(bestOf(asked, asked.objectives.find((objective) => objective.model === model)!).size).toBe(0)
  }
}

const slices = (gpus: readonly PlannedGpu[]) =>
  gpus.flatMap(({ segments }) => segments).reduce((sum, { sizeGpcs }) => sum + sizeGpcs, 0)

describe('a plan of MIG segments', () => {
  const small = drawnServices(10, 4812)

  it('has the fewest boards, and of those the fewest slices', async () => {
    for (const asked of small) {
      const plan = await planSegments(asked.profiles, asked.objectives)
      const best = bruteForce(asked)
      expectSound(plan, asked)
      expect({ gpus: plan.gpuCount, gpcs: plan.gpcCount }, JSON.stringify(asked.objectives)).toEqual(best)
      expect(plan.lowerBoundGpus).toBe(best.gpus)
      expect(plan.lowerBoundGpcs).toBe(best.gpcs)
      expect(slices(plan.gpus)).toBe(plan.gpcCount)
      expect(await planSegments(asked.profiles.toReversed(), asked.objectives.toReversed())).toEqual(plan)
      expect(await planSegments(asked.profiles, asked.objectives, { maxGpus: plan.gpuCount })).toEqual(plan)
      if (plan.gpuCount < 2) continue
      await expect(
        planSegments(asked.profiles, asked.objectives, { maxGpus: plan.gpuCount - 1 }),
      ).rejects.toMatchObject({
        code: 'TOO_FEW_GPUS',
        message: expect.stringContaining(`needs ${plan.gpuCount} GPUs`),
      })
    }
  })

  it('takes no more boards than the published algorithm', async () => {
    for (const asked of [...small.slice(0, 10), ...drawnServices(3, 99, 7, 4)]) {
      const plan = await planSegments(asked.profiles, asked.objectives)
      expectSound(plan, asked)
      expect(plan.gpuCount).toBe(plan.lowerBoundGpus)
      expect(plan.gpuCount).toBeLessThanOrEqual(planAsPublished(asked.profiles, asked.objectives).gpuCount)
    }
  })

  it('keeps what each board may draw', async () => {
    const powerCap = { boardW: 190, idleW: 60 }
    for (const asked of small.slice(0, 10)) {
      const [free, capped] = [
        await planSegments(asked.profiles, asked.objectives),
        await planSegments(asked.profiles, asked.objectives, { powerCap }),
      ]
      expectSound(capped, asked)
      const drawn = capped.gpus.map(({ segments }) =>
        segments.reduce((sum, { powerW }) => sum + powerW!, powerCap.idleW),
      )
      expect(Math.max(60, ...drawn)).toBeLessThanOrEqual(190)
      expect(capped.power!.highestW).toBeCloseTo(Math.max(60, ...drawn), 9)
      expect(capped.gpuCount).toBeGreaterThanOrEqual(free.gpuCount)
      expect(capped.lowerBoundGpus).toBeLessThanOrEqual(capped.gpuCount)
    }
  })

  it('by the tail answers 99 of 100 requests in time', async () => {
    for (const asked of drawnServices(3, 7, 2)) {
      const plan = await planSegments(asked.profiles, asked.objectives, { gate: 'tail', checkRequests: 5000 })
      for (const { segments } of plan.gpus) expect(placementConflict(segments)).toBeNull()
      const met = simulatePlan(plan, asked.profiles, { requests: 10_000, seed: 5 })
      for (const { model, late, requests } of met) expect(late / requests, model).toBeLessThan(0.015)
      expect(met).toHaveLength(plan.served.length)
    }
  })

  it('refuses what no plan could use, by name', async () => {
    const [{ profiles, objectives }] = drawnServices(1, 3) as [Asked]
    const plan = (change: Partial<ServiceObjective>, options = {}) =>
      planSegments(profiles, [{ ...objectives[0]!, ...change }], options)
    await expect(plan({ ratePerS: 0 })).rejects.toThrow(/ratePerS: got 0/)
    await expect(plan({ ratePerS: 1e12 })).rejects.toThrow(/ratePerS/)
    await expect(plan({ latencyMs: Number.NaN })).rejects.toThrow(/latencyMs/)
    await expect(plan({}, { maxGpus: 0 })).rejects.toThrow(/maxGpus: got 0/)
    await expect(plan({}, { latencyShare: 1.1 })).rejects.toThrow(/latencyShare/)
    await expect(plan({}, { maxIterations: 0 })).rejects.toThrow(/maxIterations/)
    await expect(plan({}, { powerCap: { boardW: 10, idleW: 20 } })).rejects.toThrow(/powerCap\.boardW/)
    await expect(planSegments(profiles, [...objectives, objectives[0]!])).rejects.toThrow(/objectives/)
    await expect(planSegments([...profiles, profiles[0]!], objectives)).rejects.toThrow(/profiles/)
    const none = await planSegments(profiles, [{ model: 'nobody', ratePerS: 1, latencyMs: 100 }])
    expect(none.unserved).toMatchObject([{ model: 'nobody', reason: 'no-profile' }])
  })

  it('reads profiles that it writes', () => {
    for (const {
      profiles: [profile],
    } of small.slice(0, 5)) {
      const read = parseProfileCsv(formatProfileCsv(profile!), profile!.model, 'profile.csv')
      const points = 'points' in read ? (read as ServiceProfile).points : (read as unknown as ProfilePoint[])
      expect(points.map(({ sizeGpcs, batchSize, processes }) => [sizeGpcs, batchSize, processes])).toEqual(
        profile!.points.map(({ sizeGpcs, batchSize, processes }) => [sizeGpcs, batchSize, processes]),
      )
    }
  })
})

describe('a fleet of boards', () => {
  it('of one type costs what the plan for it has boards, and of two no more than the better one', async () => {
    for (const asked of drawnServices(5, 31, 3)) {
      const plan = await planSegments(asked.profiles, asked.objectives)
      const slow = { gpu: 'A100-80GB', profiles: fleetProfiles(asked), price: 1 }
      const fast = { gpu: 'H100', profiles: fleetProfiles(asked, 1.7), price: 1.5 }
      const one = await planFleet({ groups: [slow] }, asked.objectives)
      expect(one.cost).toBe(plan.gpuCount)
      expect(one.lowerBoundCost).toBeLessThanOrEqual(one.cost)
      const other = await planFleet({ groups: [fast] }, asked.objectives)
      const both = await planFleet({ groups: [slow, fast] }, asked.objectives)
      expect(both.cost).toBeLessThanOrEqual(Math.min(one.cost, other.cost) + 1e-9)
      for (const { model, ratePerS, capacity } of both.served) {
        expect(capacity, model).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
      }
    }
  })

  it('keeps its limits on watts, or says that it cannot', async () => {
    const [asked] = drawnServices(1, 77, 2) as [Asked]
    const group = { gpu: 'A100-80GB', profiles: fleetProfiles(asked), idleW: 60 }
    const free = await planFleet({ groups: [group] }, asked.objectives)
    expect(free.powerW).toBeGreaterThan(60)
    expect(free.meanPowerW).toBeLessThanOrEqual(free.powerW)
    const capped = await planFleet({ groups: [{ ...group, boardCapW: 150 }] }, asked.objectives)
    for (const { powerW } of capped.boards) expect(powerW).toBeLessThanOrEqual(150)
    await expect(planFleet({ groups: [group], powerW: 80 }, asked.objectives)).rejects.toMatchObject({
      code: 'TOO_FEW_GPUS',
    })
    await expect(planFleet({ groups: [{ ...group, price: 0 }] }, asked.objectives)).rejects.toThrow(/price/)
    await expect(planFleet({ groups: [{ ...group, gpu: 'nothing' }] }, asked.objectives)).rejects.toThrow(/nothing/)
    await expect(planFleet({ groups: [] }, asked.objectives)).rejects.toThrow(/groups/)
  })
})

describe('a fleet whose load changes', () => {
  const scaled = (objectives: readonly ServiceObjective[], factor: number) =>
    objectives.map((each, i) => ({ ...each, ratePerS: each.ratePerS * (i === 0 ? factor : 1) }))
  const fleetOf = (asked: Asked) => ({
    groups: [{ gpu: 'A100-80GB', profiles: fleetProfiles(asked), idleW: 60, count: 12 }],
  })

  it('stays as it is where it serves, and otherwise creates no more than is to be served', async () => {
    for (const asked of drawnServices(2, 53, 3)) {
      const fleet = fleetOf(asked)
      const plan = await planFleet(fleet, asked.objectives)
      const same = await replanFleet(plan.boards, fleet, asked.objectives)
      expect(same).toMatchObject({ created: 0, restarted: 0, removed: 0, steps: [], cost: plan.cost })
      for (const factor of [0.3, 1.6]) {
        const objectives = scaled(asked.objectives, factor)
        const fresh = await planFleet(fleet, objectives)
        const next = await replanFleet(plan.boards, fleet, objectives)
        expect(next.freshCost).toBeCloseTo(fresh.cost, 6)
        expect(next.cost).toBeLessThanOrEqual(Math.max(plan.cost, fresh.cost) + 1e-9)
        expect(next.unserved).toEqual([])
        for (const { model, ratePerS, capacity } of next.served) {
          expect(capacity, model).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
        }
        const ofKind = (kind: string) => next.steps.filter((step) => step.kind === kind).length
        expect([ofKind('create'), ofKind('restart'), ofKind('remove')]).toEqual([
          next.created,
          next.restarted,
          next.removed,
        ])
        const instances = (boards: typeof plan.boards) => boards.reduce((sum, board) => sum + board.segments.length, 0)
        expect(next.kept + next.restarted + next.created).toBe(instances(next.boards))
        expect(next.kept + next.restarted + next.removed).toBe(instances(plan.boards))
        expect(next.lowerBoundMoves).toBeLessThanOrEqual(next.created + next.restarted / 2 + 1e-9)
        const tight = await replanFleet(plan.boards, fleet, objectives, { consolidate: true })
        expect(tight.cost).toBeCloseTo(fresh.cost, 6)
        expect(tight.created).toBeGreaterThanOrEqual(next.created - 1e-9)
        // From nothing, all is created.
        const first = await replanFleet([], fleet, objectives)
        expect(first).toMatchObject({ kept: 0, restarted: 0, removed: 0, created: instances(first.boards) })
      }
    }
  })

  it('is followed for less energy than one plan for the highest load takes, and nobody is late', async () => {
    for (const asked of drawnServices(3, 59, 2)) {
      const periods = [0.2, 1, 0.5, 0.1].map((factor) => scaled(asked.objectives, factor))
      const options = { periodS: 900, migrationS: 10, parkedW: 20 }
      const day = await planDay(fleetOf(asked), periods, options)
      expect(day.periods).toHaveLength(4)
      expect(day.energyJ).toBeLessThanOrEqual(day.staticPlan.energyJ * (1 + 1e-9))
      expect(day.energyJ).toBeGreaterThanOrEqual(day.lowerBoundJ * (1 - 1e-9))
      expect([day.lateRequests, day.staticPlan.created]).toEqual([0, 0])
      expect(day.maxBoards).toBe(Math.max(...day.periods.map(({ boards }) => boards.length)))
      const created = day.periods.slice(1).flatMap(({ steps }) => steps.filter(({ kind }) => kind === 'create')).length
      expect(day.created).toBe(created)
      for (const { kind, shortfalls } of day.periods.slice(1).flatMap(({ steps }) => steps)) {
        if (kind !== 'remove') expect(shortfalls).toEqual([])
      }
      const requests = periods.flat().reduce((sum, { ratePerS }) => sum + 900 * ratePerS, 0)
      expect(day.requests / requests).toBeCloseTo(1, 6)
      // The energy is that of the boards in use and of the parked ones.
      const parkedJ = periods.length * 900 * 20 * day.boards
      expect(day.energyJ).toBeGreaterThan(parkedJ)
      const usedJ = day.periods.reduce((sum, { energyJ }) => sum + energyJ, 0)
      expect(day.energyJ / (parkedJ + usedJ)).toBeCloseTo(1, 6)
      await expect(planDay(fleetOf(asked), periods, { ...options, migrationS: -1 })).rejects.toThrow(/migrationS/)
      await expect(planDay(fleetOf(asked), [], options)).rejects.toThrow(/periods/)
    }
  })
})
