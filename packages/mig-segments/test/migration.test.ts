import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { checkFleet } from '../src/fleet/check-fleet.js'
import { type FleetInstance, fleetMigrationOrder } from '../src/replan/fleet-migration.js'

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
      for (const step of fleetMigrationOrder(changes, fleet, new Map([['a', 3]])).steps) {
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
