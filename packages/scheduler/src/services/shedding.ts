import type { Service } from '@pctodl/platform'
import type { ServingClocks } from './serving-clocks.js'

/** Halvings by which a rate is found. */
const HALVINGS = 8
/** Clocks that are tried, each so many states below the one before. */
const STRIDE = 3
/** The least that is let in: something must come in to be measured. */
const LEAST = 0.02

/** What comes, what may be drawn, and how much less than the model says tenants were seen to answer. */
export interface Scarcity {
  readonly services: readonly Service[]
  readonly ratesPerS: readonly number[]
  readonly burstiness: readonly number[]
  /** In the model's watts. */
  readonly powerCapW: number
  /** The highest clock that can be run, MHz. */
  readonly topMhz: number
}

/**
 * What to let in of each service where not all can be answered: at every clock of each as much as it answers in time, less of those
 * whose requests are worth least a joule while power is above the cap; then the clock at which that is worth most.
 *
 * @returns shares, 0..1
 */
export function letIn(clocks: ServingClocks, scarcity: Scarcity): number[] {
  const { services, ratesPerS, topMhz } = scarcity
  let best = ratesPerS.map(() => LEAST)
  let most = 0
  const states = clocks.smClocksMhz.filter((clock) => clock <= topMhz)
  for (let i = states.length - 1; i >= 0; i -= STRIDE) {
    const shares = letInAt(clocks, states[i]!, scarcity)
    if (!shares) continue
    const worth = shares.reduce((sum, share, k) => sum + share * ratesPerS[k]! * services[k]!.weight, 0)
    if (worth <= most) break
    most = worth
    best = shares
  }
  return best
}

function letInAt(clocks: ServingClocks, smClockMhz: number, scarcity: Scarcity): number[] | undefined {
  const { services, ratesPerS, burstiness, powerCapW } = scarcity
  const shares = ratesPerS.map(() => 1)
  const predict = () =>
    clocks.predict(
      smClockMhz,
      ratesPerS.map((rate, i) => rate * shares[i]!),
      burstiness,
    )
  const reduce = (i: number, holds: () => boolean) => {
    let low = LEAST
    let high = shares[i]!
    for (let step = 0; step < HALVINGS; step++) {
      shares[i] = (low + high) / 2
      if (holds()) low = shares[i]!
      else high = shares[i]!
    }
    shares[i] = low
  }
  predict().services.forEach(({ objectiveMet }, i) => {
    if (!objectiveMet) reduce(i, () => predict().services[i]!.objectiveMet)
  })
  const { powerW } = predict()
  if (powerW <= powerCapW) return shares
  const worth = shares.map((share, i) => {
    shares[i] = share / 2
    const savedW = powerW - predict().powerW
    shares[i] = share
    return (services[i]!.weight * share * ratesPerS[i]!) / Math.max(1e-9, savedW)
  })
  for (const i of [...worth.keys()].sort((a, b) => worth[a]! - worth[b]!)) {
    reduce(i, () => predict().powerW <= powerCapW)
    if (predict().powerW <= powerCapW) return shares
  }
  return undefined
}
