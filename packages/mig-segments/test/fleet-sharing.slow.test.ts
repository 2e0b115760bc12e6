import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Workload } from '@pctodl/colocation'
import { SeededRandom } from '@pctodl/numerics'
import { geometryOf } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import type { InstanceCoRunners } from '../src/fleet/fleet.js'
import {
  exampleFolder,
  type Fleet,
  type FleetPlan,
  type ProfilePoint,
  planFleet,
  type ServiceObjective,
  simulateFleet,
} from '../src/index.js'
import { loadCoRunners } from '../src/input/load-fleet.js'

const workload = (model: string, batchSize: number, exclusiveThroughput: number): Workload => ({
  ...{ name: `${model}_batch${batchSize}-inf`, batchSize, training: false, exclusiveThroughput, memoryGib: 1 },
  ...{ threads: 1, smThroughputPercent: 1, dramThroughputPercent: 1, memoryThroughputPercent: 1, registers: 1 },
  ...{ staticSharedMemory: 1, smUtilPercent: 1, memUtilPercent: 1, powerW: 20 },
})

/** Each member of a group keeps one share, and the group draws so many watts. */
const coRunnersOf = (
  profile: string,
  workloads: readonly Workload[],
  kept: number,
  more: Partial<InstanceCoRunners> = {},
): InstanceCoRunners => ({
  profile,
  source: { workloads, keptShares: (members) => members.map(() => (members.length === 1 ? 1 : kept)) },
  powerW: (members) => 12 * members.length,
  ...more,
})

/** What one instance may do on a board at a clock. */
interface Use {
  readonly profile: string
  readonly rates: readonly number[]
  readonly powerW: number
}

/** Fewest boards, then fewest watts, by trying every way to fill them. A30: one of four slices, or two of two, each of them two of one. */
function bruteForce(
  uses: ReadonlyMap<number, readonly Use[]>,
  idleW: Readonly<Record<string, number>>,
  rates: readonly number[],
): { boards: number; powerW: number } {
  const zero = rates.map(() => 0)
  const pairs = (parts: readonly Use[]): Use[] =>
    parts.flatMap((a, i) => parts.slice(i).map((b) => ({ ...sum(a, b), profile: '' })))
  const sum = (a: Use, b: Use): Use => ({
    profile: '',
    rates: a.rates.map((rate, m) => rate + b.rates[m]!),
    powerW: a.powerW + b.powerW,
  })
  const nothing: Use = { profile: '', rates: zero, powerW: 0 }
  const boards = [...uses].flatMap(([clock, of]) => {
    const named = (profile: string) => [nothing, ...of.filter((use) => use.profile === profile)]
    const halves = [...pairs(named('1g.6gb')), ...named('2g.12gb')]
    const filled = [...pairs(halves), ...named('4g.24gb')]
    return filled.map((use) => ({ ...use, powerW: use.powerW + idleW[clock]! }))
  })
  const needed = (left: readonly number[]) => left.some((rate) => rate > 1e-9)
  const seek = (count: number, from: number, left: readonly number[]): number => {
    if (!needed(left)) return count === 0 ? 0 : Number.POSITIVE_INFINITY
    if (count === 0) return Number.POSITIVE_INFINITY
    let least = Number.POSITIVE_INFINITY
    for (let b = from; b < boards.length; b++) {
      const { rates: of, powerW } = boards[b]!
      if (powerW >= least) continue
      least = Math.min(
        least,
        powerW +
          seek(
            count - 1,
            b,
            left.map((rate, m) => rate - of[m]!),
          ),
      )
    }
    return least
  }
  for (let count = 1; ; count++) {
    const powerW = seek(count, 0, rates)
    if (powerW < Number.POSITIVE_INFINITY) return { boards: count, powerW }
  }
}

describe('instances shared by models, and boards with clocks of their own', () => {
  it('are the fewest boards, then the fewest watts, of all ways to fill them', async () => {
    const random = new SeededRandom(11)
    let shared = 0
    let slow = 0
    for (let round = 0; round < 12; round++) {
      const models = ['a', 'b', 'c'].slice(0, 2 + (round % 2))
      const clocks = [1000, 1400]
      const idleW = { 1000: 20, 1400: 26 }
      const uses = new Map<number, Use[]>(clocks.map((clock) => [clock, []]))
      const points = new Map<string, ProfilePoint[]>(models.map((model) => [model, []]))
      const coRunners: InstanceCoRunners[] = []
      for (const smClockMhz of clocks) {
        const speed = smClockMhz / 1400
        for (const [profile, size] of [
          ['1g.6gb', 1],
          ['4g.24gb', 4],
        ] as const) {
          models.forEach((model, m) => {
            const rate = speed * size ** 0.7 * (5 + 10 * random.uniform())
            const powerW = size * speed ** 2 * (10 + 5 * random.uniform())
            points.get(model)!.push({
              ...{ profile, batchSize: 1, processes: 1, processThroughput: rate, latencyMs: 10, powerW, smClockMhz },
            })
            uses.get(smClockMhz)!.push({ profile, rates: models.map((_, i) => (i === m ? rate : 0)), powerW })
          })
        }
        const profile = '2g.12gb'
        const workloads = models.map((model) => workload(model, 1, speed * (8 + 12 * random.uniform())))
        const kept = 0.5 + 0.4 * random.uniform()
        coRunners.push(coRunnersOf(profile, workloads, kept, { smClockMhz, maxMembers: 3 }))
        for (let set = 0; set < 1 << models.length; set++) {
          const members = models.map((_, m) => m).filter((m) => set & (1 << m))
          if (members.length < 2) continue
          uses.get(smClockMhz)!.push({
            profile,
            rates: models.map((_, m) => (members.includes(m) ? kept * workloads[m]!.exclusiveThroughput : 0)),
            powerW: 12 * members.length,
          })
        }
      }
      const profiles = models.map((model) => ({ model, points: points.get(model)! }))
      const objectives = models.map((model) => ({ model, ratePerS: 4 + 20 * random.uniform(), latencyMs: 1e4 }))
      const fleet: Fleet = { groups: [{ gpu: 'A30', profiles, coRunners, idleW }] }
      const plan = await planFleet(fleet, objectives)
      const best = bruteForce(
        uses,
        idleW,
        objectives.map(({ ratePerS }) => ratePerS),
      )
      expect(plan.cost).toBe(best.boards)
      expect(plan.lowerBoundCost).toBeCloseTo(best.boards, 6)
      expect(plan.powerW).toBeLessThanOrEqual(best.powerW + 0.5)
      expect(plan.powerW).toBeGreaterThanOrEqual(best.powerW - 1e-6)
      expect(plan.lowerBoundPowerW).toBeLessThanOrEqual(best.powerW + 1e-6)
      expect(plan.meanPowerW).toBeLessThanOrEqual(plan.powerW + 1e-9)
      shared += sharedPlaces(plan)
      slow += plan.boards.filter(({ smClockMhz }) => smClockMhz === 1000).length
    }
    expect(shared).toBeGreaterThan(3)
    expect(slow).toBeGreaterThan(2)
  })

  it('keep the tail, under requests that come by chance and in bursts', async () => {
    const random = new SeededRandom(5)
    let shared = 0
    for (let round = 0; round < 6; round++) {
      const burstiness = round % 2 === 0 ? 1 : 4
      const models = ['a', 'b', 'c', 'd']
      const workloads = models.flatMap((model) => {
        const stepMs = 2 + 10 * random.uniform()
        return [1, 4, 16].map((batch) => workload(model, batch, (1000 * batch) / (stepMs + 1.5 * batch)))
      })
      const coRunners = [coRunnersOf('1g.6gb', workloads, 0.45 + 0.3 * random.uniform(), { maxMembers: 3 })]
      const profiles = models.map((model) => ({ model, points: aloneIn('4g.24gb', model, workloads) }))
      const fleet: Fleet = { groups: [{ gpu: 'A30', profiles, coRunners, idleW: 20 }] }
      const objectives = models.map(
        (model): ServiceObjective => ({
          ...{ model, ratePerS: 5 + 120 * random.uniform(), latencyMs: 60 + 200 * random.uniform() },
        }),
      )
      const plan = await planFleet(fleet, objectives, { gate: 'tail', burstiness, checkRequests: 20_000 })
      shared += sharedPlaces(plan)
      expect(plan.unserved).toEqual([])
      for (const { model, late, requests } of simulateFleet(plan, fleet, { burstiness, requests: 30_000, seed: 9 })) {
        expect(`${model}: ${late <= 0.01 * requests ? 'in time' : late / requests}`).toBe(`${model}: in time`)
      }
    }
    expect(shared).toBeGreaterThan(4)
  })

  it('name what does not fit together', async () => {
    const profiles = [{ model: 'a', points: [clocked(1000), clocked(1400)] }]
    const wrong = (more: object) =>
      planFleet({ groups: [{ gpu: 'A30', profiles, ...more }] }, [{ model: 'a', ratePerS: 1, latencyMs: 100 }])
    const coRunners = [coRunnersOf('1g.6gb', [workload('a', 1, 9)], 1)]
    await expect(wrong({ coRunners })).rejects.toThrow(/coRunners, 1g.6gb: got undefined, expected a clock.*1400, 1000/)
    await expect(wrong({ idleW: { 1000: 20 } })).rejects.toThrow(/idleW: got undefined.*1400 MHz/)
    const mixed = [{ model: 'a', points: [clocked(1000), { ...clocked(1400), smClockMhz: undefined }] }]
    await expect(wrong({ profiles: mixed as never })).rejects.toThrow(/profiles, a: .*a column Clock/)
    const strange = [coRunnersOf('3g.40gb', [], 1, { smClockMhz: 1000 })]
    await expect(wrong({ coRunners: strange })).rejects.toThrow(/coRunners: got '3g.40gb'.*a MIG profile of A30/)
    const { powerW: _, ...unmeasured } = coRunnersOf('1g.6gb', [], 1, { smClockMhz: 1000 })
    await expect(wrong({ coRunners: [unmeasured], idleW: 20, boardCapW: 100 })).rejects.toThrow(
      /coRunners.*measured power/,
    )
    await expect(wrong({ coRunners: [{ ...coRunners[0], smClockMhz: 1000, maxMembers: 9 }] })).rejects.toThrow(
      /maxMembers/,
    )
  })
})

describe('the example of co-runners', () => {
  const geometry = geometryOf('H100')
  const example = path.join(exampleFolder('H100-co-runners'), '1g.10gb')

  it('is read, and planned with at the lower ends of its intervals', () => {
    // A third of it, which is learnt in no time.
    const folder = mkdtempSync(path.join(tmpdir(), 'coRunners-'))
    try {
      mkdirSync(path.join(folder, '1g.10gb'))
      for (const name of ['workloads.csv', 'colocations2.csv']) {
        const lines = readFileSync(path.join(example, name), 'utf8').split('\n')
        const few = lines.filter((line, i) => i === 0 || (line !== '' && !/_batch(2|32)-inf/.test(line)))
        writeFileSync(path.join(folder, '1g.10gb', name), few.join('\n'))
      }
      const [likely, sure] = [0.5, 0.9].map((level) => loadCoRunners(folder, geometry, { level, idleW: 90 })[0]!)
      expect(sure!.profile).toBe('1g.10gb')
      const { source, powerW } = sure!
      const members = [0, 3]
      const kept = source.keptShares(members)
      for (const [i, share] of kept.entries()) {
        expect(share).toBeGreaterThan(0.2)
        expect(share).toBeLessThan(likely!.source.keptShares(members)[i]!)
      }
      const group = members.map((place) => source.workloads[place]!)
      expect(powerW!(group, kept)).toBeGreaterThan(5)
      expect(powerW!(group, kept)).toBeLessThan(60)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('is needed where a fleet names it', () => {
    expect(() => loadCoRunners('/nonexistent', geometry)).toThrow(
      /no study of instances: expected folders named 1g.10gb/,
    )
  })
})

/** Instances that several models share. */
function sharedPlaces({ boards }: FleetPlan): number {
  return boards.reduce(
    (sum, { segments }) => sum + segments.length - new Set(segments.map(({ start }) => start)).size,
    0,
  )
}

/** The same workloads with an instance to themselves, four times as fast. */
function aloneIn(profile: string, model: string, workloads: readonly Workload[]): ProfilePoint[] {
  return workloads
    .filter(({ name }) => name.startsWith(`${model}_`))
    .map(({ batchSize, exclusiveThroughput }) => ({
      ...{ profile, batchSize, processes: 1, processThroughput: 4 * exclusiveThroughput, powerW: 50 },
      latencyMs: (1000 * batchSize) / (4 * exclusiveThroughput),
    }))
}

function clocked(smClockMhz: number): ProfilePoint {
  return { profile: '1g.6gb', batchSize: 1, processes: 1, processThroughput: 5, latencyMs: 9, powerW: 9, smClockMhz }
}
