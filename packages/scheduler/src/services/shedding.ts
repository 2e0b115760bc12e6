import type { Service } from '@pctodl/platform'
import type { ServingClocks } from './serving-clocks.js'

/** Share of its capacity that an overloaded service is given. */
const FULL = 0.97
/** States between the clocks that are tried. */
const STRIDE = 5
/** Smallest admitted share: some requests must be admitted to be measured. */
const LEAST = 0.02
/** Number of bisections for a share. */
const HALVINGS = 6

export interface Scarcity {
  readonly services: readonly Service[]
  readonly ratesPerS: readonly number[]
  /** Cap in the model's watts. */
  readonly powerCapW: number
}

/**
 * Shares to admit when not all requests can be answered. At each clock, start from each service's capacity; while power
 * exceeds the cap, reduce the service with the fewest weighted requests per joule. The clock with the most weighted
 * requests wins.
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
