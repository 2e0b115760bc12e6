import type { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, type PerfModel } from '@pctodl/perf-model'
import type { Service } from '@pctodl/platform'
import type { ServiceGoal, ServicePlan, ServicePlanOptions } from '../src/services.js'

/** Services on a board under a cap, with rates in proportion to what comes to them. */
export interface PlanCase {
  readonly model: PerfModel
  readonly services: readonly Service[]
  readonly ratesPerS: readonly number[]
  readonly powerCapW: number
  readonly seed: number
}

const BOARDS = ['A100', '3080Ti']
const LARGEST = [16, 32, 64]

/** `least` to `most` services of unlike networks, objectives and loads. */
export function planCases(
  count: number,
  random: SeededRandom,
  { least = 2, most = 4 }: { readonly least?: number; readonly most?: number } = {},
): PlanCase[] {
  return Array.from({ length: count }, (_, seed) => {
    const model = loadPerfModel(BOARDS[random.integer(BOARDS.length)]!)
    const { max, min } = model.spec.powerLimitW
    const memClockMhz = model.memClocksMhz[0]!
    const smClockMhz = model.spec.boostClockMhz
    const number = least + random.integer(most - least + 1)
    const alone = (network: string, batchSize: number) =>
      model.predict({ tenants: [{ model: network, mpsPercent: 100, batchSize }], smClockMhz, memClockMhz }).tenants[0]!
    const services: Service[] = []
    const ratesPerS: number[] = []
    for (let i = 0; i < number; i++) {
      const network = model.networks[random.integer(model.networks.length)]!
      services.push({
        name: `s${i}`,
        model: network,
        objective: { p99Ms: Math.round(alone(network, 1).latencyMs * (5 + 25 * random.uniform()) * number) },
        weight: 1 + random.integer(5),
        maxBatchSize: LARGEST[random.integer(LARGEST.length)]!,
        maxQueueDelayMs: 0,
      })
      ratesPerS.push(((0.2 + 0.8 * random.uniform()) * alone(network, 16).throughput) / number)
    }
    return {
      model,
      services,
      ratesPerS,
      powerCapW: Math.round(min + (0.3 + 0.6 * random.uniform()) * (max - min)),
      seed,
    }
  })
}

/** Options that make searches short enough for many cases. */
export const brief: Pick<ServicePlanOptions, 'sharePercentStep' | 'budgetEvaluations'> = {
  sharePercentStep: 5,
  budgetEvaluations: 300,
}

export const goals: readonly ServiceGoal[] = ['min-power', 'max-load', 'max-value']

/** A space that can be enumerated. */
export const small: Pick<ServicePlanOptions, 'sharePercentStep' | 'batchSizes'> = {
  sharePercentStep: 20,
  batchSizes: [1, 4, 16],
}

/** Fraction by which `other` is worse than the best plan: more power, or less load or value. */
export function gapOf(goal: ServiceGoal, best: ServicePlan, other: ServicePlan): number {
  if (!best.feasible) return 0
  if (!other.feasible) return 1
  return goal === 'min-power' ? other.score / best.score - 1 : 1 - other.score / best.score
}
