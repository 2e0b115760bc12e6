import { describe, expect, it } from 'vitest'
import { fleetOf, gpusOf, planSegments, replanFleet } from '../src/index.js'
import { boardsOf } from '../src/map/deployment-map.js'
import { stepFleetMaps } from '../src/replan/fleet-migration.js'
import { publishedData } from './published-data.js'

const board = 'A100-80GB'

describe('a change of a published map', async () => {
  const { profiles, scenarios } = publishedData('head')
  const objectives = scenarios[3]!
  const current = boardsOf((await planSegments(profiles, objectives)).gpus, board)
  const fleet = fleetOf(board, profiles)
  const scaled = (of: (m: number) => number) =>
    objectives.map((each, m) => ({ ...each, ratePerS: of(m) * each.ratePerS }))

  it('is none where nothing changed, and where less is asked for', async () => {
    for (const factor of [1, 0.99]) {
      const same = await replanFleet(
        current,
        fleet,
        scaled(() => factor),
      )
      expect(same).toMatchObject({ created: 0, restarted: 0, lowerBoundMoves: 0 })
    }
  })

  it('creates the fewest instances for higher rates, and serves them', async () => {
    const next = await replanFleet(
      current,
      fleet,
      scaled((m) => (m % 3 === 2 ? 1.5 : 0.9)),
    )
    expect(next.created + next.restarted / 2).toBe(next.lowerBoundMoves)
    for (const { capacity, ratePerS } of next.served) expect(capacity).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
    expect(next.cost).toBeLessThanOrEqual(Math.max(current.length, next.freshCost))
    const last = stepFleetMaps(current, next.steps).at(-1)!
    const rows = (map: Parameters<typeof gpusOf>[0]) =>
      gpusOf(map).flatMap(({ index, segments }) => segments.map(({ start, model }) => `${index} ${start} ${model}`))
    expect(rows(last).sort()).toEqual(rows(next.boards).sort())
  })

  it('finds places for more boards, however far away one is', async () => {
    const far = current.map((each, b) => (b === 0 ? { ...each, node: 1e9 } : each))
    const { boards } = await replanFleet(
      far,
      fleet,
      scaled(() => 1.5),
    )
    expect(boards.length).toBeGreaterThan(far.length)
    expect(Math.max(...boards.slice(far.length).map(({ node }) => node))).toBeLessThan(boards.length)
  })
})

describe('a published map', () => {
  it('comes back from the boards that it is made of', async () => {
    const { gpus } = await planSegments(publishedData('head').profiles, publishedData('head').scenarios[0]!)
    const places = gpus.map(({ index, segments }) => ({
      index,
      segments: segments.map(({ sizeGpcs, start }) => ({ sizeGpcs, start })),
    }))
    expect(gpusOf(boardsOf(gpus, board))).toMatchObject(places)
    const shared = {
      gpu: board,
      node: 0,
      index: 0,
      segments: ['a', 'b'].map((model) => ({ profile: '1g.10gb', start: 0, model, batchSize: 1, processes: 1 })),
    }
    expect(() => gpusOf([shared])).toThrow(/instance of its own/)
  })
})
