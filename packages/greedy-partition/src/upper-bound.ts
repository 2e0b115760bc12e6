import type { Predictor } from '@pctodl/perf-model'
import { assertKnownOptions, InvalidInputError } from '@pctodl/platform'
import { bestOfAll, configurationCount } from './best-of-all.js'
import { aloneRelaxation } from './bound/alone-relaxation.js'
import { splitBoxes } from './bound/split-boxes.js'
import type { ThroughputBound } from './bound/throughput-bound.js'
import { CompositionEvaluator } from './composition-evaluator.js'
import type { PartitionOptions } from './options.js'
import { searchProblem } from './search-problem.js'

export interface BoundLimits {
  /** Up to so many configurations all are looked at, which takes seconds: default 400,000, and none where the options set a time limit. */
  readonly maxConfigurations?: number
  /** Boxes of mixes to bound, default 600: about 0.1 s. More make the bound tighter. */
  readonly maxBoxes?: number
  /** A bound as low is low enough, weighted samples/s, such as 1.05 times that of a plan. Default 0: as low as the boxes allow. */
  readonly enough?: number
}

/** One network in steps of 10 %. */
const MAX_CONFIGURATIONS = 400_000
const MAX_BOXES = 600
/** Predictions are solved to 1e-10; no rounding shall put a plan above its bound. */
const ROUNDING = 1 + 1e-8

/**
 * An upper bound on what any search could find; null where nothing keeps the cap. Small spaces are looked at as a whole, and the bound is then the best
 * there is. Larger ones are split into boxes of mixes, each bounded by the laws of the predictor (`mixBounds`), as `PerfModel` has
 * them; of a predictor without them tenants are taken to do what they do alone. A chance constraint and `maxDistance` are left out, which can only
 * raise the bound. `timeBudgetMs` of the options ends the splitting, not before each number of tenants had its box.
 *
 * @throws InvalidInputError
 */
export function throughputUpperBound(
  predictor: Predictor,
  options: PartitionOptions,
  limits: BoundLimits = {},
): ThroughputBound | null {
  assertKnownOptions('limits', limits, ['maxConfigurations', 'maxBoxes', 'enough'])
  const problem = searchProblem(predictor, { ...options, budgetEvaluations: Number.MAX_SAFE_INTEGER })
  const timed = problem.timeBudgetMs < Infinity
  const maxConfigurations = limit('maxConfigurations', limits.maxConfigurations ?? (timed ? 0 : MAX_CONFIGURATIONS))
  const maxBoxes = limit('maxBoxes', limits.maxBoxes ?? MAX_BOXES)
  const enough = limit('enough', limits.enough ?? 0)
  if (configurationCount(problem) * problem.memClocksMhz.length <= maxConfigurations) {
    const found = bestOfAll(new CompositionEvaluator(predictor, problem))
    if (found === undefined) return null
    const { score, smClockMhz, memIndex } = found
    return { weightedThroughput: score, smClockMhz, memClockMhz: problem.memClocksMhz[memIndex]!, exact: true }
  }
  const bounds = predictor.mixBounds?.(problem.kinds.tenants)
  if (bounds === undefined) return aloneRelaxation(predictor, problem)
  const endMs = problem.now() + problem.timeBudgetMs
  const box = splitBoxes(predictor, problem, bounds, { maxBoxes, enough, late: () => problem.now() >= endMs })
  if (box === undefined) return null
  const { bound, highClockMhz, memClockMhz } = box
  return { weightedThroughput: bound * ROUNDING, smClockMhz: highClockMhz, memClockMhz, exact: false }
}

function limit(field: string, value: number): number {
  if (typeof value === 'number' && value >= 0) return value
  throw new InvalidInputError(`limits.${field}`, value, 'a number of at least 0')
}
