import type { Service } from '@pctodl/platform'
import type { ServingClocks } from './serving-clocks.js'

/** Share of its capacity that an overloaded service is given. */
const FULL = 0.92
/** States between the clocks that are tried. */
const STRIDE = 5
/** Relative gain in answered requests for which the clock moves. */
const GAIN = 1.03
/** Smallest admitted share: some requests must be admitted to be measured. */
const LEAST = 0.02
/** Number of bisections for a share. */
const HALVINGS = 6

export interface Shortage {
  readonly services: readonly Service[]
  readonly ratesPerS: readonly number[]
  /** Part of its capacity that each service needs for requests that already wait, requests/s. */
  readonly backlogPerS: readonly number[]
  /** Predicted power to stay within, W. */
  readonly targetW: number
}

export interface Admission {
  readonly clocks: ServingClocks
  readonly smClockMhz: number
  /** Shares to admit, 0..1, in the order of the services. */
  readonly shares: readonly number[]
  /** Weighted requests/s that are answered. */
  readonly worth: number
}

/**
 * Clocks and shares to admit when not all requests can be answered. At each clock, start from each service's capacity;
 * while power exceeds the cap, reduce the service with the fewest weighted requests per joule. The clock with the most
 * weighted requests wins.
 *
 * @param memories the tenants at each memory clock; at the first one, the present SM clock stays unless another answers clearly more
 */
export function letIn(memories: readonly ServingClocks[], presentMhz: number, shortage: Shortage): Admission {
  const { services, ratesPerS } = shortage
  const present = memories[0]!
  let best: Admission = { clocks: present, smClockMhz: presentMhz, shares: ratesPerS.map(() => LEAST), worth: 0 }
  let least = 0
  const attempt = (clocks: ServingClocks, smClockMhz: number, gain: number) => {
    const shares = letInAt(clocks, smClockMhz, shortage)
    if (!shares) return
    const worth = shares.reduce((sum, share, i) => sum + share * ratesPerS[i]! * services[i]!.weight, 0)
    if (worth <= least) return
    best = { clocks, smClockMhz, shares, worth }
    least = gain * worth
  }
  attempt(present, presentMhz, GAIN)
  for (const clocks of memories) {
    const { smClocksMhz } = clocks
    for (let i = smClocksMhz.length - 1; i >= 0; i -= STRIDE) attempt(clocks, smClocksMhz[i]!, 1)
  }
  return best
}

function letInAt(clocks: ServingClocks, smClockMhz: number, shortage: Shortage): number[] | undefined {
  const { services, ratesPerS, backlogPerS, targetW } = shortage
  const predict = (shares: readonly number[]) =>
    clocks.predict(
      smClockMhz,
      ratesPerS.map((rate, i) => rate * shares[i]!),
    )
  const { services: busy } = predict(ratesPerS.map(() => 1))
  const shares = busy.map(({ capacityPerS }, i) =>
    Math.max(LEAST, Math.min(1, (FULL * capacityPerS - backlogPerS[i]!) / ratesPerS[i]!)),
  )
  const { powerW } = predict(shares)
  if (powerW <= targetW) return shares
  const worth = shares.map((share, i) => {
    const savedW = powerW - predict(shares.with(i, share / 2)).powerW
    return (services[i]!.weight * share * ratesPerS[i]!) / Math.max(1e-9, savedW)
  })
  for (const i of [...worth.keys()].sort((a, b) => worth[a]! - worth[b]!)) {
    let low = LEAST
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
