import { type BoardVariant, simulateSteadyState } from '@pctodl/gpu-sim'
import type { PartitionOptions } from '@pctodl/greedy-partition'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import type { PerfModel } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'
import { freshConfigurations } from './fresh-configurations.js'
import type { Truth } from './measured-rows.js'
import { planLike } from './plan-mixes.js'
import { fits } from './prediction-errors.js'

/** True behaviour of a variant of a board without a power limit, so that it runs at any clock. */
export const truthOf = (variant: BoardVariant): Truth => simulateSteadyState(variant, { powerLimitW: 1e9 })

/** Random configurations that fit the board's memory. */
export function randomMixes(model: PerfModel, count: number, purpose: string): Configuration[] {
  return freshConfigurations(model, 2 * count, purpose)
    .filter((wanted) => fits(model, wanted))
    .slice(0, count)
}

/**
 * Configurations that a user measures on a board before planning for it: random mixes and kinds that plans have, in
 * turn.
 */
export function measuredConfigurations(model: PerfModel, count: number, purpose: string): Configuration[] {
  const half = Math.ceil(count / 2)
  const plans = planLike(model, half, purpose)
  return randomMixes(model, half, purpose)
    .flatMap((wanted, i) => [wanted, plans[i]!])
    .slice(0, count)
}

/** Planning problems: mostly one network under a cap, sometimes two. */
export function planProblems(model: PerfModel, purpose: string | number, count = 10): PartitionOptions[] {
  const { spec, networks } = model
  return Array.from({ length: count }, (_, i) => {
    const random = new SeededRandom(seedFrom('problem', purpose, spec.key, i))
    const names = [networks[i % networks.length]!]
    if (i >= 0.7 * count) names.push(networks[(i + 3) % networks.length]!)
    return {
      models: names.map((name) => ({ model: name })),
      powerCapW: Math.round(spec.powerLimitW.default * (0.42 + 0.4 * random.uniform())),
      budgetEvaluations: 1200,
      maxDistance: Number.POSITIVE_INFINITY,
    }
  })
}
