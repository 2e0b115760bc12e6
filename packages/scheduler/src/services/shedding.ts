import type { Service } from '@pctodl/platform'
import type { ServingClocks } from './serving-clocks.js'

/** Share of its capacity that a service is given where more arrives. */
const FULL = 0.97
/** States between the clocks that are tried. */
const STRIDE = 5
/** The least share that is admitted: something must come in to be measured. */
const LEAST = 0.02
/** Halvings by which a share is found. */
const HALVINGS = 6

export interface Scarcity {
  readonly services: readonly Service[]
  readonly ratesPerS: readonly number[]
  /** In the model's watts. */
  readonly powerCapW: number
}

/**
 * The shares to admit where not all requests can be answered. At each clock: what the capacity of each service allows, less of the
 * service with the least weighted requests a joule while power is above the cap. Of these, the clock with the most weighted requests.
 *
 * @returns shares, 0..1, in the order of the services
 */
export function letIn(clocks: ServingClocks, scarcity: Scarcity): number[] {
  const { services, ratesPerS } = scarcity
  const { smClocksMhz } = clocks
  let best = ratesPerS.map(() => LEAST)
  let most = 0
  for (let i = smClocksMhz.length - 1; i >= 0; i -= STRIDE) {
    const shares = letInAt(clocks, smClocksMhz[i]!, scarcity)
    if (!shares) continue
    const worth = shares.reduce((sum, share, k) => sum + share * ratesPerS[k]! * services[k]!.weight, 0)
    if (worth <= most) continue
    most = worth
    best = shares
  }
  return best
}

function letInAt(
  clocks: ServingClocks,
  smClockMhz: number,
  { services, ratesPerS, powerCapW }: Scarcity,
): number[] | undefined {
  const predict = (shares: readonly number[]) =>
    clocks.predict(
      smClockMhz,
      ratesPerS.map((rate, i) => rate * shares[i]!),
    )
  const { services: busy } = predict(ratesPerS.map(() => 1))
  const shares = busy.map(({ capacityPerS }, i) => Math.min(1, (FULL * capacityPerS) / ratesPerS[i]!))
  const { powerW } = predict(shares)
  if (powerW <= powerCapW) return shares
  const worth = shares.map((share, i) => {
    const savedW = powerW - predict(shares.with(i, share / 2)).powerW
    return (services[i]!.weight * share * ratesPerS[i]!) / Math.max(1e-9, savedW)
  })
  for (const i of [...worth.keys()].sort((a, b) => worth[a]! - worth[b]!)) {
    let low = LEAST
    let high = shares[i]!
    for (let step = 0; step < HALVINGS; step++) {
      shares[i] = (low + high) / 2
      if (predict(shares).powerW <= powerCapW) low = shares[i]!
      else high = shares[i]!
    }
    shares[i] = low
    if (predict(shares).powerW <= powerCapW) return shares
  }
  return undefined
}
