import { type Configuration, type GpuSpec, InvalidInputError } from '@pctodl/platform'
import { statesAt } from './clock-range.js'
import { mixSweep } from './mix-sweep.js'
import type { PlannedRow } from './profile-plan.js'
import { chooseRows } from './row-chooser.js'

export interface ActiveOptions {
  /** How many rows. */
  readonly count: number
  readonly seed: number
  /**
   * Configurations that a search would choose with the present predictor. The rows are chosen to improve the
   * predictions for these.
   */
  readonly plans: readonly Configuration[]
  /**
   * Returns the relative standard deviation, above 0, of the present prediction for a configuration. Undefined if the
   * configuration cannot be measured, for example because its tenants need more memory than the board has.
   */
  readonly sdOf: (configuration: Configuration) => number | undefined
}

/**
 * Number of candidates per requested row, within `MIN_POOL` and `MAX_POOL`. These bounds keep the choice of rows within
 * seconds.
 */
const POOL_PER_ROW = 4
const MIN_POOL = 400
const MAX_POOL = 1200
/**
 * Fraction of the objective that is the mean variance over the plans; the rest is the mean variance over all other
 * candidates.
 */
const PLANS_PART = 0.5

/**
 * Returns the rows that reduce the uncertainty of predicted plans the most. Candidates are random mixes and the plans
 * themselves. The algorithm repeatedly takes the row that most lowers the expected variance over all candidates, given
 * the rows already taken (greedy V-optimal design: V. Fedorov, Theory of Optimal Experiments, 1972).
 *
 * @throws InvalidInputError for a memory clock that the board does not have, or if no candidate can be measured
 */
export function activeSweep(
  spec: GpuSpec,
  models: readonly string[],
  memClockMhz: number | null,
  { count, seed, plans, sdOf }: ActiveOptions,
): PlannedRow[] {
  const states = statesAt(spec, memClockMhz)
  const memMhz = memClockMhz ?? spec.performanceMemClocksMhz[0]!
  const pool: Configuration[] = []
  const sds: number[] = []
  const take = (configuration: Configuration): void => {
    const sd = sdOf(configuration)
    if (sd === undefined) return
    pool.push(configuration)
    sds.push(sd)
  }
  for (const plan of plans) if (plan.memClockMhz === memMhz) take(plan)
  const planCount = pool.length
  const candidates = Math.min(MAX_POOL, Math.max(MIN_POOL, POOL_PER_ROW * count))
  for (const mix of mixSweep(spec, models, memClockMhz, { count: candidates, seed })) {
    take({ tenants: mix.tenants, smClockMhz: mix.smClockMhz!, memClockMhz: memMhz })
  }
  if (pool.length === 0) throw new InvalidInputError('models', models, 'networks with a configuration that fits')
  const others = pool.length - planCount
  const weights = pool.map((_, i) => {
    if (planCount === 0) return 1 / others
    return i < planCount ? PLANS_PART / planCount : (1 - PLANS_PART) / others
  })
  return chooseRows(pool, sds, weights, states.at(-1)!, count).map((index) => {
    const { tenants, smClockMhz } = pool[index]!
    return { sweep: 'active', tenants, smClockMhz, memClockMhz, repeat: 0 }
  })
}
