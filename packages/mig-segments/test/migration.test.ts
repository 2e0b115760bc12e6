import type { SegmentSize } from '@pctodl/mig-deploy'
import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { checkFleet } from '../src/fleet/check-fleet.js'
import { type FleetInstance, fleetMigrationOrder } from '../src/replan/fleet-migration.js'
import { type Changes, type Located, migrationOrder } from '../src/replan/migration.js'

const on = (gpu: number, model: string, sizeGpcs: SegmentSize, start: number, throughput: number): Located => ({
  gpu,
  segment: { model, sizeGpcs, start, throughput, batchSize: 8, processes: 1, latencyMs: 10 },
})
const none: Changes = { kept: [], restarted: [], created: [], removed: [] }

/** The steps, briefly. */
const order = (changes: Partial<Changes>, needed: Readonly<Record<string, number>>) =>
  migrationOrder({ ...none, ...changes }, new Map(Object.entries(needed))).map(({ kind, gpu, segment, shortfall }) =>
    [kind, `${segment.model}@${gpu}`, ...(shortfall ? [shortfall.capacity, shortfall.needed] : [])].join(' '),
  )

describe('the order of a migration', () => {
  it('creates where there is room before it removes', () => {
    expect(
      order(
        { removed: [on(0, 'a', 3, 0, 50)], created: [on(0, 'b', 3, 4, 50), on(1, 'a', 7, 0, 100)] },
        { a: 50, b: 0 },
      ),
    ).toEqual(['create b@0', 'create a@1', 'remove a@0'])
  })

  it('removes what is in the way and not needed, and goes on creating', () => {
    const removed = [on(0, 'a', 7, 0, 80)]
    expect(order({ kept: [on(1, 'a', 7, 0, 100)], removed, created: [on(0, 'b', 7, 0, 60)] }, { a: 90 })).toEqual([
      'remove a@0',
      'create b@0',
    ])
  })

  it('says by how much a service falls short that has to go before its successor is there', () => {
    expect(order({ removed: [on(0, 'a', 7, 0, 80)], created: [on(0, 'a', 4, 0, 60)] }, { a: 50 })).toEqual([
      'remove a@0 0 50',
      'create a@0',
    ])
  })

  it('lets the service fall short that is hurt least, and only of what is in the way', () => {
    const removed = [on(0, 'a', 7, 0, 80), on(1, 'b', 7, 0, 80), on(2, 'c', 7, 0, 10)]
    const created = [on(0, 'b', 7, 0, 70), on(1, 'a', 7, 0, 70)]
    // `b` keeps half of what it needs on another GPU; nobody waits for the place of `c`.
    const kept = [on(3, 'b', 7, 0, 30)]
    expect(order({ kept, removed, created }, { a: 60, b: 60, c: 5 })).toEqual([
      'remove b@1 30 60',
      'create a@1',
      'remove a@0',
      'create b@0',
      'remove c@2 0 5',
    ])
  })

  it('keeps one of two that are harmless alone and not together', () => {
    const removed = [on(0, 'a', 7, 0, 50), on(1, 'a', 7, 0, 50)]
    const created = [on(0, 'b', 7, 0, 50), on(1, 'a', 4, 0, 60)]
    expect(order({ removed, created }, { a: 50 })).toEqual([
      'remove a@0',
      'create b@0',
      'remove a@1 0 50',
      'create a@1',
    ])
  })

  it('restarts what stays where it is once the rest stands', () => {
    const [before, after] = [on(0, 'a', 4, 0, 80), on(0, 'a', 4, 0, 90)]
    const created = [on(1, 'b', 7, 0, 50)]
    expect(order({ restarted: [{ before, after }], created }, { a: 60 })).toEqual(['create b@1', 'restart a@0 0 60'])
    expect(order({ restarted: [{ before, after }], created: [on(1, 'a', 7, 0, 70)] }, { a: 60 })).toEqual([
      'create a@1',
      'restart a@0',
    ])
  })
})

describe('the order of a migration of a fleet', () => {
  const nodeCapW = 220
  const idleW = 30
  const point = { profile: '1g.6gb', batchSize: 1, processes: 1, processThroughput: 10, latencyMs: 5, powerW: 20 }
  const profiles = [{ model: 'a', points: [point] }]
  const fleet = checkFleet({ groups: [{ gpu: 'A30', idleW, boardsPerNode: 2, nodeCapW, profiles }] })
  const instance = (index: number, start: number, batchSize: number, powerW: number): FleetInstance => {
    const segment = { model: 'a', profile: '1g.6gb', start, batchSize, processes: 1, throughput: 1, latencyMs: 5 }
    return { gpu: 'A30', node: 0, index, profile: '1g.6gb', start, segments: [{ ...segment, ratePerS: 1, powerW }] }
  }
  const drawnW = (of: Iterable<FleetInstance>) => {
    const all = [...of]
    const boards = new Set(all.map(({ index }) => index)).size
    return all.reduce((sum, { segments }) => sum + segments[0]!.powerW!, idleW * boards)
  }

  it('keeps the watts of a node in every map on the way, whatever starts again, comes and goes', () => {
    const random = new SeededRandom(1)
    let felt = 0
    for (let round = 0; round < 1000; round++) {
      const changes = {
        kept: [] as FleetInstance[],
        restarted: [] as { before: FleetInstance; after: FleetInstance }[],
        created: [] as FleetInstance[],
        removed: [] as FleetInstance[],
      }
      for (let place = 0; place < 8; place++) {
        const of = (batchSize: number) =>
          instance(place % 2, Math.floor(place / 2), batchSize, 10 + 50 * random.uniform())
        const kind = random.uniform()
        if (kind < 0.5) changes.restarted.push({ before: of(1), after: of(2) })
        else if (kind < 0.65) changes.created.push(of(1))
        else if (kind < 0.8) changes.removed.push(of(1))
        else if (kind < 0.9) changes.kept.push(of(1))
      }
      const { kept, restarted, created, removed } = changes
      const before = [...kept, ...restarted.map((each) => each.before), ...removed]
      const after = [...kept, ...restarted.map((each) => each.after), ...created]
      if (Math.max(drawnW(before), drawnW(after)) > nodeCapW) continue
      const place = ({ index, start }: FleetInstance) => `${index} ${start}`
      const present = new Map(before.map((each) => [place(each), each]))
      for (const step of fleetMigrationOrder(changes, fleet, new Map([['a', 3]]))) {
        if (step.kind === 'remove') present.delete(place(step.instance))
        else present.set(place(step.instance), step.instance)
        const now = drawnW(present.values())
        expect(now).toBeLessThanOrEqual(nodeCapW * (1 + 1e-9))
        if (now > 0.95 * nodeCapW) felt++
      }
      expect(new Set(present.values())).toEqual(new Set(after))
    }
    expect(felt).toBeGreaterThan(10)
  })
})
