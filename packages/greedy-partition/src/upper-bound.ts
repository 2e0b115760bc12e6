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
  /** Enumerate spaces up to this size, which takes seconds. Default 400,000; 0 if the options set a time limit. */
  readonly maxConfigurations?: number
  /** Maximum number of boxes to bound, default 600 (about 0.1 s). More boxes give a tighter bound. */
  readonly maxBoxes?: number
  /** Stop at a bound this low, weighted samples/s, such as 1.05 times a plan's value. Default 0: use all boxes. */
  readonly enough?: number
}

/** One network in steps of 10 %. */
const MAX_CONFIGURATIONS = 400_000
const MAX_BOXES = 600
/** Relative slack on the bound for rounding: predictions are solved to 1e-10. */
const ROUNDING = 1 + 1e-8

/**
 * An upper bound on the result of any search; null if no configuration is within the cap. Small spaces are enumerated,
 * and the bound is then exact. Larger ones are split into boxes of mixes, each bounded by the predictor's `mixBounds`,
 * as `PerfModel` provides them. Without `mixBounds`, tenants are assumed to run as fast as alone. A chance constraint
 * and `maxDistance` are ignored, which can only raise the bound. The options' `timeBudgetMs` ends the splitting, but
 * only after the initial box of each number of tenants.
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
