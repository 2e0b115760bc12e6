import { VirtualClock } from '@pctodl/platform'
import { highestRate, poissonArrivals, type SystemUnderTest, serverLoad } from '@pctodl/traffic'

/** A server that answers one request after the other, in 2 ms each. */
export function oneAfterTheOther(clock: VirtualClock): SystemUnderTest {
  let freeAtMs = 0
  return {
    answer: async ({ dueMs }) => {
      freeAtMs = Math.max(freeAtMs, dueMs) + 2
      await clock.sleep(freeAtMs - clock.now())
    },
  }
}

/** The highest rate of independent users at which 99 of 100 are answered within 10 ms: MLPerf's Server scenario. */
export async function peakPerS(): Promise<number | null> {
  const { ratePerS } = await highestRate(
    async (rate) => {
      const clock = new VirtualClock() // minutes pass in milliseconds; `systemClock` for a real server
      const arrivals = poissonArrivals({ ratePerS: rate })
      const options = { clock, arrivals, seed: 7, latencyBoundMs: 10, minDurationMs: 20_000 }
      return (await serverLoad(oneAfterTheOther(clock), options)).valid
    },
    { fromPerS: 100, precision: 0.05 },
  )
  return ratePerS
}
