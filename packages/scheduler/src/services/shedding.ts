import type { Service } from '@pctodl/platform'
import type { ServingClocks } from './serving-clocks.js'

/** Target utilization of an overloaded service: the admitted rate over its capacity. */
const FULL = 0.92
/** Distance between the clock states that are tried. */
const STRIDE = 5
/** The clock changes only if the weighted rate of answered requests grows by more than this factor. */
const GAIN = 1.03
/**
 * Smallest admitted share, and smallest change of one. A service must admit some requests so that its latency is still
 * measured.
 */
export const MIN_SHARE = 0.02
/** Number of bisection steps in the search for a share. */
const HALVINGS = 6

interface Shortage {
  readonly services: readonly Service[]
  readonly ratesPerS: readonly number[]
  /** Capacity that each service needs for the requests already waiting, requests/s. */
  readonly backlogPerS: readonly number[]
  /** Upper bound of predicted power, W. */
  readonly targetW: number
}

export interface Admission {
  readonly clocks: ServingClocks
  readonly smClockMhz: number
  /** Admitted shares in the order of the services, 0..1. */
  readonly shares: readonly number[]
  /** Rate of answered requests, each multiplied by its service's weight, requests/s. */
  readonly weightedPerS: number
}

/**
 * Chooses clocks and admitted shares when not all requests can be answered. At each clock, the search starts from every
 * service's capacity. While power exceeds the target, it reduces the service that answers the fewest weighted requests
 * per joule. The clock with the most weighted requests wins.
 *
 * @param memories the tenants at each memory clock, the present one first. At the present memory clock, the SM clock
 *   stays unless another one answers clearly more
 */
export function chooseAdmission(memories: readonly ServingClocks[], presentMhz: number, shortage: Shortage): Admission {
  const { services, ratesPerS } = shortage
  const present = memories[0]!
  let best: Admission = {
    clocks: present,
    smClockMhz: presentMhz,
    shares: ratesPerS.map(() => MIN_SHARE),
    weightedPerS: 0,
  }
  let threshold = 0
  const attempt = (clocks: ServingClocks, smClockMhz: number, gain: number) => {
    const shares = sharesAt(clocks, smClockMhz, shortage)
    if (!shares) return
    const weightedPerS = shares.reduce((sum, share, i) => sum + share * ratesPerS[i]! * services[i]!.weight, 0)
    if (weightedPerS <= threshold) return
    best = { clocks, smClockMhz, shares, weightedPerS }
    threshold = gain * weightedPerS
  }
  attempt(present, presentMhz, GAIN)
  for (const clocks of memories) {
    const { smClocksMhz } = clocks
    for (let i = smClocksMhz.length - 1; i >= 0; i -= STRIDE) attempt(clocks, smClocksMhz[i]!, 1)
  }
  return best
}

function sharesAt(clocks: ServingClocks, smClockMhz: number, shortage: Shortage): number[] | undefined {
  const { services, ratesPerS, backlogPerS, targetW } = shortage
  const predict = (shares: readonly number[]) =>
    clocks.predict(
      smClockMhz,
      ratesPerS.map((rate, i) => rate * shares[i]!),
    )
  const { services: busy } = predict(ratesPerS.map(() => 1))
  const shares = busy.map(({ capacityPerS }, i) =>
    Math.max(MIN_SHARE, Math.min(1, (FULL * capacityPerS - backlogPerS[i]!) / ratesPerS[i]!)),
  )
  const { powerW } = predict(shares)
  if (powerW <= targetW) return shares
  const valuePerW = shares.map((share, i) => {
    const savedW = powerW - predict(shares.with(i, share / 2)).powerW
    return (services[i]!.weight * share * ratesPerS[i]!) / Math.max(1e-9, savedW)
  })
  for (const i of [...valuePerW.keys()].sort((a, b) => valuePerW[a]! - valuePerW[b]!)) {
    let low = MIN_SHARE
    let high = shares[i]!
    for (let step = 0; step < HALVINGS; step++) {
      shares[i] = (low + high) / 2
      if (predict(shares).powerW <= targetW) low = shares[i]!
      else high = shares[i]!
    }
    shares[i] = low
    if (predict(shares).powerW <= targetW) return shares
  }
  return undefined
}
