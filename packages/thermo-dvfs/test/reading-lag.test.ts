import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { LAGS_MS, ReadingLag } from '../src/reading-lag.js'

/** Power, share of the cap, that steps by some size after four seconds of twelve. */
const steps = (size: number) => (timeMs: number) => (timeMs < 4000 ? 0.9 : 0.9 + size)

/** One episode of readings a tenth of a second apart that come late, with noise. */
function episode(lag: ReadingLag, lateMs: number, size: number, noise: number, seed = 1): void {
  const random = new SeededRandom(seed)
  const powerAt = steps(size)
  for (let timeMs = 3000; timeMs < 8000; timeMs += 100) {
    lag.during(1.1 * powerAt(timeMs - lateMs) + noise * random.normal(), (lagMs) => powerAt(timeMs - lagMs))
  }
  lag.conclude()
}

describe('ReadingLag', () => {
  it.each(LAGS_MS)('finds a lag of %d ms in one clear step', (lateMs) => {
    const lag = new ReadingLag()
    episode(lag, lateMs, 0.1, 0.003)
    expect(lag).toMatchObject({ known: true, lagMs: lateMs })
  })

  it('is told nothing by moves as small as the noise, however often', () => {
    const lag = new ReadingLag()
    for (let seed = 1; seed <= 200; seed++) episode(lag, 0, 0.005, 0.003, seed)
    expect(lag.known).toBe(false)
  })

  it('believes in another lag only when two episodes in a row say so', () => {
    const lag = new ReadingLag()
    episode(lag, 0, 0.1, 0.003)
    episode(lag, 1000, 0.1, 0.003)
    expect(lag.lagMs).toBe(0)
    episode(lag, 0, 0.1, 0.003)
    episode(lag, 1000, 0.1, 0.003)
    expect(lag.lagMs).toBe(0)
    episode(lag, 1000, 0.1, 0.003)
    expect(lag.lagMs).toBe(1000)
  })

  it('forgets an episode that was disturbed', () => {
    const lag = new ReadingLag()
    const powerAt = steps(0.1)
    for (let timeMs = 3000; timeMs < 8000; timeMs += 100)
      lag.during(powerAt(timeMs), (lagMs) => powerAt(timeMs - lagMs))
    lag.abandon()
    lag.conclude()
    expect(lag.known).toBe(false)
  })
})
