import { PctodlError } from '@pctodl/platform'
import type { ServiceObjective } from '../profile.js'
import { minHolding } from './least-holding.js'

/** How much longer than asked an objective may be that is looked for. */
const MAX_TIMES_LONGER = 1e6

/** Plans that are made for one service: beyond two and a half times what the estimate says the estimate says nothing. */
const MAX_PLANS = 20

/** Alone the service needs more boards than any plan may have, or more work. */
const NOTHING_KNOWN = ['NO_PLAN', 'INVALID_INPUT']

/**
 * The least latency objective, to a few hundredths, that a service could keep: first by an estimate, then by a plan made for it.
 *
 * @param fromMs below it nothing is kept
 * @param estimated whether the estimate says that an objective is kept
 * @param kept whether a plan for it keeps it
 * @returns ms; null where none is kept however long, or none can be planned for
 */
export async function minKept(
  service: ServiceObjective,
  fromMs: number,
  estimated: (objective: ServiceObjective) => boolean,
  kept: (objective: ServiceObjective) => Promise<boolean>,
): Promise<number | null> {
  const within = (latencyMs: number): ServiceObjective => ({
    model: service.model,
    ratePerS: service.ratePerS,
    latencyMs,
  })
  let low = fromMs
  let high = fromMs
  do {
    low = high
    high *= 1.25
    if (high > MAX_TIMES_LONGER * fromMs) return null
  } while (!estimated(within(high)))
  let could = rounded(1.0005 * minHolding(low, high, 0.02, (latencyMs) => estimated(within(latencyMs))))
  try {
    for (let plans = 1; !(await kept(within(could)).catch(tooFewBoards)); plans++) {
      if (plans === MAX_PLANS) return null
      could = rounded(1.05 * could)
    }
  } catch (error) {
    if (error instanceof PctodlError && NOTHING_KNOWN.includes(error.code)) return null
    throw error
  }
  return could
}

function rounded(ms: number): number {
  return Number(ms.toPrecision(4))
}

/** With a longer objective the boards that there are may do. */
function tooFewBoards(error: unknown): false {
  if (error instanceof PctodlError && error.code === 'TOO_FEW_GPUS') return false
  throw error
}
