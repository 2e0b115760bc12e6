import { createHash } from 'node:crypto'
import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import {
  type Fleet,
  type ProfilePoint,
  planFleet,
  planSegments,
  replanFleet,
  type ServiceObjective,
} from '../src/index.js'
import { planForTail } from './plan-for-tail.js'
import { dataSets, publishedData, randomScenarios } from './published-data.js'

/** Short for all that is in a result, to six digits. */
function digest(result: unknown): string {
  const text = JSON.stringify(result, (_, value) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value))
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

const scaled = (objectives: readonly ServiceObjective[], of: (m: number) => number) =>
  objectives.map((each, m) => ({ ...each, ratePerS: of(m) * each.ratePerS }))

// That a plan keeps its limits, and how far it is from its bound, other tests hold. Which of many plans a search ends at hangs on each of its
// steps, prices and limits, and nothing else tells.
describe('the same plans as before', () => {
  it('are found for one type of board', async () => {
    const told: string[] = []
    for (const set of dataSets) {
      const data = publishedData(set)
      for (const objectives of randomScenarios(data, 6, 3)) {
        const { gpuCount, gpcCount, lowerBoundGpus, lowerBoundGpcs } = await planSegments(data.profiles, objectives)
        told.push(`${gpuCount} (${lowerBoundGpus}) ${gpcCount} (${lowerBoundGpcs})`)
      }
    }
    expect(told).toMatchInlineSnapshot(`
      [
        "9 (9) 62 (62)",
        "4 (4) 28 (28)",
        "19 (19) 125 (125)",
        "12 (12) 80 (80)",
        "3 (3) 15 (15)",
        "6 (6) 38 (38)",
        "38 (38) 265 (265)",
        "13 (13) 86 (86)",
        "51 (51) 352 (352)",
        "35 (35) 240 (240)",
        "7 (7) 49 (49)",
        "28 (28) 187 (187)",
      ]
    `)
  })

  it('are found by the tail', async () => {
    const { profiles, scenarios } = publishedData('head')
    const told: string[] = []
    for (const [dispatch, burstiness, row] of [
      ['shared', 1, 0],
      ['shared', 4, 4],
      ['split', 4, 2],
      ['split', 0.3, 4],
    ] as const) {
      const options = { dispatch, burstiness, checkRequests: 2000 }
      const { gpuCount, lowerBoundGpus, gpcCount, ...plan } = await planForTail(profiles, scenarios[row]!, options)
      told.push(`${gpuCount} (${lowerBoundGpus}) ${gpcCount} ${digest(plan.gpus)} ${plan.unserved.length}`)
    }
    expect(told).toMatchInlineSnapshot(`
      [
        "11 (11) 76 9b570dc6add6 1",
        "5 (5) 35 620ebd2bb4a9 1",
        "10 (10) 68 efb223fc1956 1",
        "5 (5) 30 306098d0430e 1",
      ]
    `)
  })

  it('are found for a fleet, and from its running map', async () => {
    const random = new SeededRandom(9)
    const models = ['a', 'b', 'c']
    const measured = (speed: number, ...names: readonly string[]) =>
      models.map((model) => ({
        model,
        points: names.flatMap((profile) =>
          [1400, 1000].map((smClockMhz): ProfilePoint => {
            const slices = Number.parseInt(profile, 10)
            const processThroughput = speed * (smClockMhz / 1400) * slices ** 0.8 * (8 + 8 * random.uniform())
            const powerW = slices * 20 * (smClockMhz / 1400) ** 2
            return { profile, batchSize: 1, processes: 1, processThroughput, latencyMs: 5, powerW, smClockMhz }
          }),
        ),
      }))
    const idleW = { 1400: 60, 1000: 50 }
    const profiles = [measured(1, '1g.6gb', '2g.12gb', '4g.24gb'), measured(1.5, '1g.10gb', '2g.20gb', '3g.40gb')]
    const groups = [
      { gpu: 'A30', price: 0.5, idleW, profiles: profiles[0]!, boards: 4, boardsPerNode: 2, nodeCapW: 260 },
      { gpu: 'H100', idleW, profiles: profiles[1]!, boardCapW: 190 },
    ]
    const fleet: Fleet = { groups, powerW: 1500 }
    const objectives = models.map((model) => ({ model, ratePerS: 40 + 50 * random.uniform(), latencyMs: 1000 }))
    const told: string[] = []
    for (const gate of ['latency', 'tail'] as const) {
      const options = { gate, maxIterations: 300, checkRequests: 1000 }
      const plan = await planFleet(fleet, objectives, options)
      told.push(
        `${plan.cost} (${plan.lowerBoundCost.toFixed(3)}) ${plan.powerW.toFixed(2)} (${plan.lowerBoundPowerW.toFixed(2)}) ${plan.meanPowerW.toFixed(2)} ${digest(plan.boards)}`,
      )
      const next = await replanFleet(
        plan.boards,
        fleet,
        scaled(objectives, (m) => 1.4 - 0.4 * m),
        options,
      )
      told.push(
        `${next.cost} ${next.created} ${next.restarted} ${next.removed} ${next.kept} (${next.lowerBoundMoves}) ${digest([next.boards, next.steps])}`,
      )
    }
    expect(told).toMatchInlineSnapshot(`
      [
        "2 (2.000) 301.43 (301.43) 289.00 273f0f582512",
        "2 0 2 1 7 (1) 0b98c53e0a48",
        "2.5 (2.500) 450.82 (0.00) 369.84 f4225629e3c2",
        "2.5 8 0 6 5 (1) 08d4f7018462",
      ]
    `)
  })
})
