import { calibratedBoards } from '@pctodl/gpu-sim'
import { describe, expect, it } from 'vitest'
import { someOf } from '../../../test/long-tests.js'
import { sweepRegrets } from '../scripts/sweep-regrets.js'
import { efficiencyOf, findKnee, type KneePoint } from '../src/sweep/find-knee.js'

const settings = Array.from({ length: 101 }, (_, i) => 200 + 10 * i)

/** A board whose samples per joule are `curve` of the part of the range. */
const boardOf = (curve: (part: number) => number, asked: number[] = []) => {
  return async (setting: number): Promise<KneePoint> => {
    asked.push(setting)
    return { setting, throughput: 100 * curve((setting - 200) / 1000), powerW: 100 }
  }
}

describe('findKnee', () => {
  it.each([0, 0.05, 0.3, 0.5, 0.62, 0.95, 1])(
    'finds a top at %f of the range in six measurements at most',
    async (top) => {
      const asked: number[] = []
      const { best, points } = await findKnee(
        settings,
        boardOf((part) => 1 - 0.5 * (part - top) ** 2, asked),
      )
      expect(efficiencyOf(best)).toBeGreaterThan(0.995)
      expect(points.map(({ setting }) => setting)).toEqual(asked)
      expect(asked.length).toBeLessThanOrEqual(6)
      expect(new Set(asked).size).toBe(asked.length)
    },
  )

  it('finds the edge of a plateau that falls off to one side', async () => {
    const { best } = await findKnee(
      settings,
      boardOf((part) => (part < 0.4 ? 1 : 1 - 0.9 * (part - 0.4))),
    )
    expect(efficiencyOf(best)).toBe(1)
  })

  it('counts what was measured before, and stops where there is nothing new', async () => {
    const first = await boardOf(() => 1)(1200)
    const { points } = await findKnee(
      settings,
      boardOf((part) => 2 - part),
      [first],
    )
    expect(points).toHaveLength(6)
    expect(points[0]).toBe(first)
    const few = await findKnee(
      [300, 400],
      boardOf(() => 1),
    )
    expect(few.points.map(({ setting }) => setting).sort()).toEqual([300, 400])
  })

  it('measures the only setting that is left once', async () => {
    const asked: number[] = []
    const first = { setting: 250, throughput: 100, powerW: 100 }
    const { points } = await findKnee(
      [150],
      boardOf(() => 1.5, asked),
      [first],
    )
    expect(asked).toEqual([150])
    expect(points).toHaveLength(2)
  })

  it('refuses what it could not search', async () => {
    await expect(
      findKnee(
        [],
        boardOf(() => 1),
      ),
    ).rejects.toThrow(/settings.*at least one/)
  })
})

describe.each(
  someOf(calibratedBoards, 'A100').flatMap((board) => [[board, 'clocks'] as const, [board, 'limits'] as const]),
)('on the %s over %s', (board, over) => {
  it('loses at most 2 % against a full sweep, on every network, several sets of tenants and two variants', async () => {
    const cases = await sweepRegrets(board, over, 2)
    expect(cases).toHaveLength(3 * 7 * 5)
    for (const entry of cases) {
      expect(entry.regret, JSON.stringify(entry)).toBeLessThanOrEqual(0.02)
      expect(entry.points).toBeLessThanOrEqual(6)
    }
  })
})
