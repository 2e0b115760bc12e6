import { SeededRandom, seedFrom, shuffled } from '@pctodl/numerics'
import { type Configuration, type GpuSpec, InvalidInputError, PctodlError } from '@pctodl/platform'
import { mixSweep } from './mix-sweep.js'
import type { PlannedRow } from './profile-plan.js'

/** What a predictor knows of a board. */
export interface KnownOfBoard {
  /** Configurations that a search would choose with the present predictor. The rows improve the predictions for these. */
  readonly plans: readonly Configuration[]
  /** Whether the board has enough memory for a configuration. */
  readonly fits: (configuration: Pick<Configuration, 'tenants'>) => boolean
}

export interface ActiveOptions extends KnownOfBoard {
  /** How many rows. */
  readonly count: number
  readonly seed: number
}

/** Fraction of the rows that are plans, if there are as many. */
const PLANS_PART = 0.5
/**
 * Power caps for which plans are requested, as fractions of the range between the board's lowest and highest power
 * limit.
 */
const capParts = [0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9]
const PLAN_EVALUATIONS = 800

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

/**
 * Returns the configurations that the search of `@pctodl/greedy-partition` chooses for each network and for all
 * networks together at several power caps. Search and predictor are loaded only here.
 *
 * @param folder folder with the parameters that `pctodl fit` wrote; default: the shipped parameters
 * @throws PctodlError `MISSING_PACKAGE`; UnknownNameError for a board without parameters or a network that was not
 *   fitted
 */
export async function knownOfBoard(spec: GpuSpec, models: readonly string[], folder?: string): Promise<KnownOfBoard> {
  const [{ modelOf }, { partition }] = await Promise.all([
    import('@pctodl/perf-model/node'),
    import('@pctodl/greedy-partition'),
  ]).catch((cause: unknown) => {
    const remedy = 'npm install @pctodl/perf-model @pctodl/greedy-partition'
    throw new PctodlError('MISSING_PACKAGE', `--design active needs a predictor and a search: ${remedy}`, { cause })
  })
  const model = modelOf(spec.key, folder)
  const { min, max } = spec.powerLimitW
  const demands = [...models, ...(models.length > 1 ? [models.map((name) => ({ model: name }))] : [])]
  const plans = demands.flatMap((demand) =>
    capParts.flatMap((part): Configuration[] => {
      const found = partition(model, {
        models: demand,
        powerCapW: min + part * (max - min),
        sharePercentStep: 5,
        budgetEvaluations: PLAN_EVALUATIONS,
      })
      return found.feasible ? [found.configuration] : []
    }),
  )
  const fits: KnownOfBoard['fits'] = ({ tenants }) =>
    tenants.reduce((sum, tenant) => sum + model.memoryBytes(tenant), model.reservedMemoryBytes) <= spec.memoryBytes
  return { plans, fits }
}
