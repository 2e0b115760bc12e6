import { describe, expect, it } from 'vitest'
import { type ClockAction, ClockController, type ClockObservation } from '../src/index.js'

const smClocksMhz = Array.from({ length: 81 }, (_, i) => 210 + 15 * i)
const CAP_W = 70

/** Answer of the controller on a board with a constant reading. */
function told(
  durationMs: number,
  at: (timeMs: number, askedMhz: number) => Partial<ClockObservation> & { powerW: number },
) {
  const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
  controller.setPlant(smClocksMhz.map((mhz) => 68 + 0.14 * (mhz - 210)))
  const actions: ClockAction[] = []
  for (let timeMs = 0; timeMs < durationMs; timeMs += 100) {
    const smClockMhz = actions.at(-1)?.smClockMhz ?? 210
    const { powerW, ...more } = at(timeMs, smClockMhz)
    const read = powerW + (timeMs % 200) / 10_000
    const seen = { powerAverageW: read, powerInstantW: read, smClockMhz, loading: false }
    actions.push(controller.step({ timeMs, powerCapW: CAP_W, ...seen, ...more }))
  }
  return actions
}

describe('the lowest clock', () => {
  it('is said to be too much where it is read above the cap for longer than a mean of a second looks back', () => {
    const actions = told(6000, () => ({ powerW: 75 }))
    expect(new Set(actions.map(({ smClockMhz }) => smClockMhz))).toEqual(new Set([210]))
    expect(actions.at(-1)!.status).toBe('infeasible')
  })

  it('is not said to be too much while tenants start, nor because it rests there under the cap', () => {
    const starting = told(8000, () => ({ powerW: 60, loading: true }))
    expect(starting.map(({ status }) => status)).not.toContain('infeasible')
    const resting = told(8000, () => ({ powerW: 68 }))
    expect(resting.at(-1)).toMatchObject({ smClockMhz: 210, status: 'settled' })
    expect(resting.map(({ status }) => status)).not.toContain('infeasible')
  })

  it('is not to blame for what the board draws at another clock', () => {
    const actions = told(6000, () => ({ powerW: 69.95, smClockMhz: 600 }))
    expect(actions.map(({ status }) => status)).not.toContain('infeasible')
  })

  it('is enough again where it draws clearly less than the cap', () => {
    const at = (timeMs: number) => ({ powerW: timeMs < 6000 ? 75 : timeMs < 20_000 ? 69.8 : 60 })
    const actions = told(40_000, at)
    const statusAt = (timeMs: number) => actions[timeMs / 100]!.status
    expect(statusAt(5900)).toBe('infeasible')
    expect(statusAt(39_900)).not.toBe('infeasible')
  })
})
