import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { coolDown, type OpenBoard } from '../src/fleet/cool-down.js'
import type { FleetRow } from '../src/fleet/fleet-rows.js'
import { type ProfilePoint, planFleet } from '../src/index.js'

const row = (powerW: number): FleetRow => ({ lane: 0, profile: 0, parts: [], powerW })
const board = (watts: readonly number[], places: number): OpenBoard => ({
  ...{ lane: 0, layout: [], free: [places - watts.length], rows: watts.map(row), kept: [] },
  drawnW: 50 + watts.reduce((sum, each) => sum + each, 0),
})
const wattsOf = (boards: readonly OpenBoard[]) => boards.flatMap(({ rows }) => rows.map(({ powerW }) => powerW!)).sort()

describe('boards that are cooled down', () => {
  it('keep all instances and places, and their cap where they say so', () => {
    const random = new SeededRandom(4)
    let kept = 0
    for (let round = 0; round < 200; round++) {
      const boards = Array.from({ length: 2 + Math.floor(50 * random.uniform()) }, () => {
        const count = Math.floor(5 * random.uniform())
        return board(
          Array.from({ length: count }, () => Math.ceil(40 * random.uniform())),
          4,
        )
      })
      const before = wattsOf(boards)
      const mean = boards.reduce((sum, { drawnW }) => sum + drawnW, 0) / boards.length
      const capW = mean + 12 * random.uniform()
      const cool = coolDown(boards, capW)
      expect(wattsOf(boards)).toEqual(before)
      for (const { rows, free, drawnW } of boards) {
        expect(rows.length + free[0]!).toBe(4)
        expect(drawnW).toBeCloseTo(50 + rows.reduce((sum, { powerW = 0 }) => sum + powerW, 0), 6)
      }
      expect(boards.every(({ drawnW }) => drawnW <= capW * (1 + 1e-9))).toBe(cool)
      if (cool) kept++
    }
    expect(kept).toBeGreaterThan(100)
  })

  it('may be many', () => {
    // Hot and cool ones in turn: each hot one must give up an instance.
    const boards = Array.from({ length: 2000 }, (_, b) => board(b % 2 === 0 ? [30, 30, 30] : [10, 10, 10], 3))
    expect(coolDown(boards, 120)).toBe(true)
  })
})

it('a fleet whose watts suffice in sum but do not pack is told from one that needs more work', async () => {
  const points: ProfilePoint[] = [
    { profile: '2g.12gb', batchSize: 1, processes: 1, processThroughput: 10, latencyMs: 5, powerW: 60 },
  ]
  const group = { gpu: 'A30', idleW: 20, boardCapW: 115, profiles: [{ model: 'net', points }] }
  const asked = [{ model: 'net', ratePerS: 30, latencyMs: 100 }]
  // One instance a board: two draw more than the cap, three no more than two boards may in sum.
  await expect(planFleet({ groups: [{ ...group, boards: 3 }] }, asked)).resolves.toMatchObject({ cost: 3 })
  const unpacked = planFleet({ groups: [{ ...group, boards: 2 }] }, asked)
  await expect(unpacked).rejects.toThrow(
    expect.objectContaining({ code: 'NO_PLAN', message: expect.not.stringMatching(/iterations/) }),
  )
})
