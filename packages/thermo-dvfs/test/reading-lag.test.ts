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
    const see = (fromMs: number, toMs: number) => {
      for (let timeMs = fromMs; timeMs < toMs; timeMs += 100)
        lag.during(powerAt(timeMs), (lagMs) => powerAt(timeMs - lagMs))
    }
    see(3000, 4400)
    lag.abandon()
    see(4400, 5800)
    lag.conclude()
    expect(lag.known).toBe(false)
    see(3000, 4500)
    expect(lag).toMatchObject({ known: true, lagMs: 0 })
  })

  /** Power that jumps about its mean each half second, with a standard deviation of a share of the cap. */
  function jumping(count: number, deviation: number): number[] {
    const random = new SeededRandom(5)
    const raw = Array.from({ length: count + 4 }, () => random.normal())
    // What is read is the power of a second ago: of two places earlier.
    const read = raw.slice(2, count + 2)
    const mean = read.reduce((sum, value) => sum + value, 0) / count
    const sd = Math.sqrt(read.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count)
    return raw.map((value) => 0.9 + ((value - mean) / sd) * deviation)
  }

  /** Readings that are a second late, and say what `read` makes of the power. */
  function told(
    count: number,
    deviation: number,
    read = (powerW: number, _: number) => powerW,
    lag = new ReadingLag(),
  ) {
    const power = jumping(count, deviation)
    for (let i = 0; i < count; i++)
      lag.during(read(power[i + 2]!, i), (lagMs) => power[Math.ceil(i + 4 - lagMs / 500)]!)
    return lag
  }

  const concluded = (lag: ReadingLag): number | null => {
    lag.conclude()
    return lag.known ? lag.lagMs : null
  }

  it('is told by fifteen readings that end, and not by fewer', () => {
    expect([concluded(told(14, 0.1)), concluded(told(15, 0.1))]).toEqual([null, 1000])
  })

  it('is told before the end by fifteen readings that are prompt, and by twice as many that are late', () => {
    const late = (count: number) => told(count, 0.1).known
    expect([late(15), late(29), late(30)]).toEqual([false, false, true])
    const prompt = (count: number) => {
      const lag = new ReadingLag()
      const power = jumping(count, 0.1)
      for (let i = 0; i < count; i++) lag.during(power[i + 4]!, (lagMs) => power[Math.ceil(i + 4 - lagMs / 500)]!)
      return lag.known
    }
    expect([prompt(14), prompt(15)]).toEqual([false, true])
  })

  it('is told to be another one by an episode of eighty that does not end', () => {
    const suspected = (count: number) => {
      const lag = new ReadingLag()
      lag.believe(0)
      return told(count, 0.1, (powerW) => powerW, lag).state.suspected
    }
    expect([suspected(79), suspected(80)]).toEqual([null, LAGS_MS.indexOf(1000)])
  })

  it('is told where readings move by a hundredth of their mean', () => {
    expect([concluded(told(15, 0.0089)), concluded(told(15, 0.0091))]).toEqual([null, 1000])
  })

  it('is told by what follows the power, whatever its scale, and not by what runs against it', () => {
    expect(concluded(told(40, 0.1, (power) => 0.2 + 0.5 * power))).toBe(1000)
    expect(concluded(told(40, 0.1, (power) => 2 - power))).toBeNull()
  })

  it('is told where power explains most of what readings do', () => {
    const sometimes = (noise: number) => {
      const random = new SeededRandom(8)
      return concluded(told(79, 0.05, (power) => power + noise * random.normal()))
    }
    expect([sometimes(0.01), sometimes(0.04)]).toEqual([1000, null])
  })

  it('is not told by power that comes back each second: it may be a second late as well', () => {
    const lag = new ReadingLag()
    const powerAt = (step: number) => (step % 2 === 0 ? 0.9 : 1)
    for (let i = 10; i < 50; i++) lag.during(powerAt(i), (lagMs) => powerAt(Math.ceil(i - lagMs / 500)))
    expect(concluded(lag)).toBeNull()
  })
})
