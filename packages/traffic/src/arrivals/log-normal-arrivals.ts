import { SeededRandom } from '@pctodl/numerics'
import type { Arrivals } from '@pctodl/platform'
import { type ArrivalProcess, positive } from './arrival-process.js'

export interface LogNormalArrivalsOptions {
  /** Requests/s. */
  readonly ratePerS: number
  /** Variance of the gaps over their squared mean, above 0, as in `gammaArrivals`. */
  readonly burstiness: number
}

/**
 * Independent, log-normal gaps between requests. Compared with gamma-distributed gaps of the same burstiness, long gaps
 * are rarer but longer.
 */
export function logNormalArrivals({ ratePerS, burstiness }: LogNormalArrivalsOptions): ArrivalProcess {
  positive('ratePerS', ratePerS, 'requests/s above 0')
  positive('burstiness', burstiness, 'the squared coefficient of variation of the gaps, above 0')
  const sigma2 = Math.log1p(burstiness)
  const medianGapMs = (1000 / ratePerS) * Math.exp(-sigma2 / 2)
  return {
    meanRatePerS: ratePerS,
    start(seed): Arrivals {
      const random = new SeededRandom(seed)
      let timeMs = 0
      return {
        nextMs() {
          timeMs += medianGapMs * Math.exp(Math.sqrt(sigma2) * random.normal())
          return timeMs
        },
      }
    },
  }
}
