import { type Configuration, type GpuSpec, PctodlError } from '@pctodl/platform'
import type { ActiveOptions } from './plan/active-sweep.js'

/** Plans that the search suggests for a board, and what fits in its memory. */
export type KnownOfBoard = Pick<ActiveOptions, 'plans' | 'fits'>

/**
 * Power caps for which plans are requested, as fractions of the range between the board's lowest and highest power
 * limit.
 */
const capParts = [0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9]
const PLAN_EVALUATIONS = 800

/**
 * Returns the configurations that the search of `@pctodl/greedy-partition` chooses for each network and for all
 * networks together at several power caps. Search and predictor are loaded only here.
 *
 *
 * @param folder folder with the parameters that `pctodl fit` wrote; default: the shipped parameters
 * @throws PctodlError `MISSING_PACKAGE`; UnknownNameError for a board without parameters or a network that was not
 *   fitted
 */
export async function knownOfBoard(
  spec: GpuSpec,
  models: readonly string[],
  folder: string | undefined,
): Promise<KnownOfBoard> {
  const { modelOf, partition } = await load()
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

async function load() {
  try {
    const [{ modelOf }, { partition }] = await Promise.all([
      import('@pctodl/perf-model/node'),
      import('@pctodl/greedy-partition'),
    ])
    return { modelOf, partition }
  } catch (cause) {
    const remedy = 'npm install @pctodl/perf-model @pctodl/greedy-partition'
    throw new PctodlError('MISSING_PACKAGE', `--design active needs a predictor and a search: ${remedy}`, { cause })
  }
}
