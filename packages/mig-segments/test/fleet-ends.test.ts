import { describe, expect, it } from 'vitest'
import { checkFleet } from '../src/fleet/check-fleet.js'
import { keepWatts } from '../src/fleet/place-fleet.js'
import { type ProfilePoint, planDay, planFleet, replanFleet } from '../src/index.js'
import type { MappedBoard } from '../src/map/fleet-map.js'
import { type FleetStep, stepFleetMaps } from '../src/replan/fleet-migration.js'

const point = (more: Partial<ProfilePoint> = {}): ProfilePoint => ({
  ...{ profile: '1g.6gb', batchSize: 1, processes: 1, latencyMs: 50, processThroughput: 10 },
  ...more,
})
const group = (more: object = {}, of: Partial<ProfilePoint> = {}) => ({
  ...{ gpu: 'A30', profiles: [{ model: 'net', points: [point(of)] }] },
  ...more,
})
const asked = (ratePerS: number, latencyMs = 1000) => [{ model: 'net', ratePerS, latencyMs }]

describe('a rate that is next to nothing', () => {
  it.each([1e-3, 1e-7, 1e-12])(
    'of %d/s is served by one instance, and counts next to nothing in a day',
    async (rate) => {
      const fleet = { groups: [group({ idleW: 30 }, { powerW: 20 })] }
      const services = [...asked(rate), { model: 'other', ratePerS: 25, latencyMs: 1000 }]
      const profiles = ['net', 'other'].map((model) => ({ model, points: [point({ powerW: 20 })] }))
      const both = { groups: [group({ idleW: 30, profiles })] }
      expect((await planFleet(fleet, asked(rate))).boards.flatMap(({ segments }) => segments)).toHaveLength(1)
      expect((await planFleet(both, services)).boards.flatMap(({ segments }) => segments)).toHaveLength(4)
      const costs = { periodS: 3600, migrationS: 60, parkedW: 0 }
      const day = await planDay(both, [services, asked(rate)], costs)
      expect(day.lowerBoundJ).toBeLessThanOrEqual(day.energyJ)
      expect(day.lowerBoundJ).toBeGreaterThan(0.9 * day.energyJ)
      const running = (await planFleet(both, services)).boards
      const change = await replanFleet(running, both, [...asked(rate), { ...services[1]!, ratePerS: 35 }])
      expect([change.created, change.kept, change.lowerBoundMoves]).toEqual([1, 4, 1])
    },
  )
})

describe('the maps on the way', () => {
  const segment = (start: number, model = 'net') => ({
    ...{ profile: '1g.6gb', start, model, batchSize: 1, processes: 1 },
  })
  const board = (index: number, ...segments: MappedBoard['segments']): MappedBoard => ({
    ...{ gpu: 'A30', node: 0, index, segments },
  })
  const step = (kind: FleetStep['kind'], index: number, start: number, ...models: string[]): FleetStep => {
    const segments = models.map((model) => ({ ...segment(start, model), throughput: 10, ratePerS: 10, latencyMs: 5 }))
    return { kind, instance: { gpu: 'A30', node: 0, index, profile: '1g.6gb', start, segments }, shortfalls: [] }
  }

  it('have each instance at its place, with all who share it, and no board without any', () => {
    const maps = stepFleetMaps(
      [board(0, segment(1)), board(1, segment(0), segment(2))],
      [
        step('create', 2, 3, 'a', 'b'),
        step('create', 1, 1, 'c'),
        step('restart', 2, 3, 'd'),
        step('remove', 0, 1, 'net'),
        step('remove', 2, 3, 'd'),
      ],
    )
    const places = maps.map((map) =>
      map.map(
        ({ index, segments }) => `${index}: ${segments.map(({ start, model }) => `${model}@${start}`).join(' ')}`,
      ),
    )
    expect(places).toEqual([
      ['0: net@1', '1: net@0 net@2', '2: a@3 b@3'],
      ['0: net@1', '1: net@0 c@1 net@2', '2: a@3 b@3'],
      ['0: net@1', '1: net@0 c@1 net@2', '2: d@3'],
      ['1: net@0 c@1 net@2', '2: d@3'],
      ['1: net@0 c@1 net@2'],
    ])
  })

  it('keep the watts of boards, nodes and the fleet up to the last', () => {
    const instance = (node: number, index: number, start: number, powerW: number) => ({
      ...{ gpu: 'A30', node, index, profile: '1g.6gb', start },
      segments: [{ ...segment(start), throughput: 10, ratePerS: 10, latencyMs: 5, powerW }],
    })
    // 60, 50 and 40 W, each of them 20 W of a board that waits.
    const present = [instance(0, 0, 0, 25), instance(0, 0, 1, 15), instance(0, 1, 0, 30), instance(1, 0, 0, 20)]
    const keeps = (limits: object, powerW?: number) =>
      keepWatts(
        checkFleet({
          groups: [group({ idleW: 20, ...limits }, { powerW: 15 })],
          ...(powerW !== undefined && { powerW }),
        }),
        present,
      )
    expect(keeps({})).toBe(true)
    expect([keeps({ boardCapW: 60 }), keeps({ boardCapW: 59.99 })]).toEqual([true, false])
    expect([keeps({ nodeCapW: 110 }), keeps({ nodeCapW: 109.99 })]).toEqual([true, false])
    expect([keeps({}, 150), keeps({}, 149.99)]).toEqual([true, false])
  })
})

describe('a plan of a fleet', () => {
  it('takes a node for a board that finds no place on the others', async () => {
    const limits = { boards: 3, boardsPerNode: 2, idleW: 20, nodeCapW: 200 }
    const { boards } = await planFleet({ groups: [group(limits, { powerW: 10 })] }, asked(110))
    expect(boards.map(({ node }) => node).sort()).toEqual([0, 0, 1])
  })

  it.each([
    ['latency', 'computes a batch in time for 40 ms; '],
    ['tail', 'answers 99 of 100 requests in time for 40 ms; '],
  ] as const)('says what keeps a service out of it: %s', async (gate, said) => {
    const { unserved } = await planFleet({ groups: [group()] }, asked(1, 40), { gate, checkRequests: 500 })
    expect(unserved.map(({ message }) => message).join()).toContain(said)
  })
})
