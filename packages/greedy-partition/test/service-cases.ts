import type { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, type PerfModel } from '@pctodl/perf-model'
import type { Service } from '@pctodl/platform'
import type { ServicePlanOptions } from '../src/services.js'

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
