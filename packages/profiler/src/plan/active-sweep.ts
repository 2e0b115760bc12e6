import { SeededRandom, seedFrom, shuffled } from '@pctodl/numerics'
import { type Configuration, type GpuSpec, InvalidInputError } from '@pctodl/platform'
import { mixSweep } from './mix-sweep.js'
import type { PlannedRow } from './profile-plan.js'

export interface ActiveOptions {
  /** How many rows. */
  readonly count: number
  readonly seed: number
  /** Configurations that a search would choose with the present predictor. The rows improve the predictions for these. */
  readonly plans: readonly Configuration[]
  /** Whether the board has enough memory for a configuration. */
  readonly fits: (configuration: Pick<Configuration, 'tenants'>) => boolean
}

/** Fraction of the rows that are plans, if there are as many. */
const PLANS_PART = 0.5

/**
 * Returns rows that improve the predictions for plans: plans drawn at random, and random mixes that fit.
 *
 * @throws InvalidInputError for a memory clock that the board does not have, or if too few mixes fit
 */
export function activeSweep(
  spec: GpuSpec,
  models: readonly string[],
  memClockMhz: number | null,
  { count, seed, plans, fits }: ActiveOptions,
): PlannedRow[] {
  const memMhz = memClockMhz ?? spec.performanceMemClocksMhz[0]!
  const own = plans.filter((plan) => plan.memClockMhz === memMhz && fits(plan))
  const chosen = shuffled(own, new SeededRandom(seedFrom('plans', seed))).slice(0, Math.floor(PLANS_PART * count))
  const mixes = mixSweep(spec, models, memClockMhz, { count: 200 + 4 * count, seed }).filter(fits)
  const rows = [...chosen, ...mixes].slice(0, count)
  if (rows.length < count)
    throw new InvalidInputError('models', models, `networks with ${count} configurations that fit`)
  return rows.map(({ tenants, smClockMhz }) => ({ sweep: 'active', tenants, smClockMhz, memClockMhz, repeat: 0 }))
}
